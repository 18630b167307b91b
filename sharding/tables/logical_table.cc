#include "sharding/tables/logical_table.h"

#include <array>
#include <cmath>

#include "common/nearest_name.h"

namespace rowhouse {
namespace {

template <size_t N>
Status CheckName(const LogicalTable& table, const char* field, const std::string& name,
                 const std::array<std::string, N>& known) {
  for (const std::string& one : known) {
    if (one == name) return OkStatus();
  }
  return UsageError("table \"{}\": {}: unknown \"{}\" {}", table.name, field, name,
                    DescribeKnownNames(name, known));
}

}  // namespace

Status LogicalTable::Validate() const {
  RETURN_IF_ERROR(TableSpec::Validate());
  RETURN_IF_ERROR(
      CheckName(*this, "pooling", pooling, std::array<std::string, 3>{"sum", "mean", "max"}));
  RETURN_IF_ERROR(CheckName(*this, "pooling_sum", pooling_sum,
                            std::array<std::string, 2>{"bag_order", "exact"}));
  RETURN_IF_ERROR(
      CheckName(*this, "pool_on", pool_on, std::array<std::string, 3>{"", "workers", "shards"}));
  RETURN_IF_ERROR(CheckName(*this, "weighted_pooling", weighted_pooling,
                            std::array<std::string, 3>{"none", "fixed", "learned"}));
  RETURN_IF_ERROR(CheckName(*this, "bad_ids", bad_ids,
                            std::array<std::string, 3>{"error", "modulo", "padding"}));
  if (weighted_pooling != "none" && pooling != "sum") {
    return UsageError("table \"{}\": weighted_pooling={} needs pooling=sum; it is {}", name,
                      weighted_pooling, pooling);
  }
  if (scale_grad_by_freq && pooling == "max") {
    return UsageError("table \"{}\": scale_grad_by_freq is not defined for pooling=max", name);
  }
  if (norm_type != 2.0 && max_norm == 0.0) {
    return UsageError(
        "table \"{}\": norm_type={} has no effect without max_norm; give one above 0, or leave "
        "norm_type away",
        name, norm_type);
  }
  if (padding_id && *padding_id >= rows) {
    return UsageError("table \"{}\": padding_id={} is outside its {} rows", name, *padding_id,
                      rows);
  }
  if (learning_rate && (!(*learning_rate >= 0.0) || std::isinf(*learning_rate))) {
    return UsageError("table \"{}\": learning_rate={} must be a finite number of 0 or more", name,
                      *learning_rate);
  }
  return OkStatus();
}

}  // namespace rowhouse
