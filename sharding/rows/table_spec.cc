#include "sharding/rows/table_spec.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "common/nearest_name.h"

namespace rowhouse {
namespace {

constexpr uint64_t kMaxTableRows = uint64_t{1} << 63;

bool IsNameLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-';
}

}  // namespace

Status TableSpec::Validate() const {
  if (name.empty() || !std::all_of(name.begin(), name.end(), IsNameLetter)) {
    return UsageError("table \"{}\": a name is one or more of A-Z a-z 0-9 _ . -", name);
  }
  if (rows == 0 || rows > kMaxTableRows) {
    return UsageError("table \"{}\": rows={} must be 1 to 2^63", name, rows);
  }
  if (dim == 0 || dim > kMaxDim) {
    return UsageError("table \"{}\": dim={} must be 1 to {}", name, dim, kMaxDim);
  }
  if (!FindPrecision(precision)) {
    return UsageError("table \"{}\": precision: unknown \"{}\" {}", name, precision,
                      DescribeKnownNames(precision, PrecisionNames()));
  }
  for (const OptimizerOptionField& option : OptimizerOptionFields()) {
    const float value = optimizer_options.*option.member;
    if (option.is_legal(value)) continue;
    return UsageError("table \"{}\": {}={} must be {}", name, option.name, value, option.range);
  }
  if (!(initialiser_options.scale >= 0.0) ||
      std::isinf(static_cast<float>(initialiser_options.scale))) {
    return UsageError("table \"{}\": initial_scale={} must be a finite number of 0 or more", name,
                      initialiser_options.scale);
  }
  if (!(learning_rate_factor >= 0.0) || std::isinf(learning_rate_factor)) {
    return UsageError("table \"{}\": learning_rate_factor={} must be a finite number of 0 or more",
                      name, learning_rate_factor);
  }
  if (!(max_norm >= 0.0) || std::isinf(max_norm)) {
    return UsageError("table \"{}\": max_norm={} must be a finite number of 0 or more; 0: off",
                      name, max_norm);
  }
  if (!(norm_type > 0.0)) {
    return UsageError("table \"{}\": norm_type={} must be greater than 0 (2: Euclidean)", name,
                      norm_type);
  }
  return OkStatus();
}

Status ValidateTables(const std::vector<TableSpec>& tables) {
  if (tables.empty()) return UsageError("the model has no tables");
  std::set<std::string> names;
  for (size_t i = 0; i < tables.size(); ++i) {
    RETURN_IF_ERROR(tables[i].Validate());
    if (!names.insert(tables[i].name).second) {
      return UsageError("table \"{}\" is named twice", tables[i].name);
    }
    if (Raw(tables[i].id) != i) {
      return UsageError("table \"{}\": id {} where {} is next", tables[i].name, Raw(tables[i].id),
                        i);
    }
  }
  return OkStatus();
}

bool DividesByLookups(const std::vector<TableSpec>& tables) {
  return std::any_of(tables.begin(), tables.end(),
                     [](const TableSpec& table) { return table.scale_grad_by_freq; });
}

}  // namespace rowhouse
