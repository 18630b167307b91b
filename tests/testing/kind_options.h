// Options that make a table of any registered kind, including kinds that are added later.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "sharding/tables/table_kind.h"

namespace rowhouse {

// The options that a kind requires: none, or a number of buckets.
inline KindOptions MinimalOptions(const std::string& kind) {
  const std::vector<std::string> names = KindOptionNames(kind);
  const bool has_buckets = std::find(names.begin(), names.end(), "buckets") != names.end();
  return has_buckets ? KindOptions{{"buckets", "5"}} : KindOptions{};
}

inline LogicalTable TableOfKind(const std::string& kind, const KindOptions& options, uint64_t rows,
                                uint32_t dim) {
  LogicalTable table;
  table.name = "table0";
  table.rows = rows;
  table.dim = dim;
  table.kind = kind;
  table.kind_options = options;
  return table;
}

}  // namespace rowhouse
