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

// The wide part of a model (Wide & Deep, Cheng et al., 2016; the first-order part of DeepFM, Guo et
// al., 2017): each row of a table has a first-order weight, and the weights of a sample's ids are
// added to its logit, beside what the deep part makes of the rows.
//
// The weights of table T are a table "T.wide" of its own, of width 1. It has a row for each row of
// T's physical tables, so it fits every kind: an id has the weight of each of the rows that it
// reads, and they are added, however the kind combines the rows. It is sharded, cached, trained and
// saved like any table.
//
// Optimizer, learning rate, freezing, padding, strategy and pool_on are the table's. A weight
// begins as 0 and is an f32; it has no max_norm. A bag's weights are added, times the data's own
// weights if it has some; of a table of pooling mean they are divided by the number of ids. Learned
// weights of ids (weighted_pooling) do not scale them.
LogicalTable WideTableOf(const LogicalTable& table);

// The kind of `wide`, as WideTableOf gives it for a table of kind `kind`.
std::shared_ptr<const TableKind> WideKindOf(std::shared_ptr<const TableKind> kind,
                                            const LogicalTable& wide);

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
  // features[columns() + k], which has the first-order weights of features[k] (WideTableOf).
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
