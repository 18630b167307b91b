// EmbeddingTables: all logical tables of a model with their kinds and the physical tables that hold
// them. The same on every rank.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "sharding/tables/logical_table.h"
#include "sharding/tables/table_kind.h"

namespace rowhouse {

// One logical table, in which a feature of the data looks its ids up.
struct FeatureTable {
  LogicalTable table;
  std::shared_ptr<const TableKind> kind;
  std::vector<TableId> parts;      // physical table of each part of a lookup
  std::vector<IdGroup> groups;     // at least one
  std::optional<TableId> weights;  // of learned weighted pooling: rows of width 1, row = id

  uint32_t out_width() const { return kind->layout().out_width; }
};

struct EmbeddingTables {
  // Feature k of the data looks its ids up in features[k]; and, if there is a wide part, in
  // features[columns() + k], which has the first-order weights of features[k]
  // (sharding/tables/wide_table.h).
  std::vector<FeatureTable> features;
  bool has_wide = false;
  std::vector<TableSpec> physical;  // ids 0, 1, ...: in order of their features
  std::vector<bool> on_workers;     // of each physical table: its kind asks for it
  std::vector<bool> is_frozen;      // of each physical table
  // Of each physical table: the sharding strategy it asks for; "": the run's. It decides no bit of
  // the model.
  std::vector<std::string> strategies;
  std::vector<std::string> pool_on;  // of each physical table: workers, shards or "": as the run

  // kUsage, naming the table, if a table is invalid or its kind refuses it, if it pools the max of
  // several groups, or if two features share a physical table or a projection and differ in its
  // shape, optimizer, initial values, precision, norms or freezing. `has_wide`: a wide part is
  // added.
  static Result<EmbeddingTables> Make(const std::vector<LogicalTable>& tables,
                                      bool has_wide = false);

  // Features of the data.
  size_t columns() const { return has_wide ? features.size() / 2 : features.size(); }
  // The feature of the data whose ids features[f] looks up.
  size_t ColumnOf(size_t f) const { return f % columns(); }
  // Floats of the vectors that interact: of the first columns() features.
  std::vector<uint32_t> widths() const;
};

}  // namespace rowhouse
