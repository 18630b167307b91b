#include "sharding/table_spec.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace rowhouse {
namespace {

constexpr uint64_t kMaxRows = uint64_t{1} << 63;
constexpr uint32_t kMaxDim = 4096;

bool IsNameLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-';
}

}  // namespace

Status TableSpec::Validate() const {
  if (name.empty() || !std::all_of(name.begin(), name.end(), IsNameLetter)) {
    return UsageError("table \"{}\": a name is one or more of A-Z a-z 0-9 _ . -", name);
  }
  if (rows == 0 || rows > kMaxRows) {
    return UsageError("table \"{}\": rows={} must be 1 to 2^63", name, rows);
  }
  if (dim == 0 || dim > kMaxDim) {
    return UsageError("table \"{}\": dim={} must be 1 to {}", name, dim, kMaxDim);
  }
  if (!(optimizer_options.epsilon > 0.0f)) {
    return UsageError("table \"{}\": epsilon={} must be greater than 0", name,
                      optimizer_options.epsilon);
  }
  if (!(optimizer_options.initial_accumulator >= 0.0f)) {
    return UsageError("table \"{}\": initial_accumulator={} must not be negative", name,
                      optimizer_options.initial_accumulator);
  }
  const OptimizerOptions& o = optimizer_options;
  const std::pair<const char*, float> not_negative[] = {
      {"learning_rate_decay", o.learning_rate_decay},
      {"weight_decay", o.weight_decay},
      {"l1", o.l1},
      {"l2", o.l2},
      {"beta", o.beta}};
  for (const auto& [option, value] : not_negative) {
    if (!(value >= 0.0f) || std::isinf(value)) {
      return UsageError("table \"{}\": {}={} must be a finite number of 0 or more", name, option,
                        value);
    }
  }
  const std::pair<const char*, float> below_one[] = {
      {"momentum", o.momentum}, {"beta1", o.beta1}, {"beta2", o.beta2}};
  for (const auto& [option, value] : below_one) {
    if (!(value >= 0.0f && value < 1.0f)) {
      return UsageError("table \"{}\": {}={} must lie in [0, 1)", name, option, value);
    }
  }
  if (!(initialiser_options.scale >= 0.0) || std::isinf(initialiser_options.scale)) {
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
