#include "sharding/table_spec.h"

#include <algorithm>
#include <set>

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

}  // namespace rowhouse
