// LogicalTable: one embedding table as the model sees it: one categorical feature looks its ids up
// in it, and each bag of ids gives one vector. Its kind (sharding/tables/table_kind.h) says which
// physical tables hold it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "sharding/rows/table_spec.h"

namespace rowhouse {

// Options of a table's kind by name, as text; the kind's file says what they mean.
using KindOptions = std::map<std::string, std::string>;

// Of the TableSpec's members, `name`, `rows` (ids are 0 .. rows - 1), `dim` and `kind` describe the
// logical table; its physical tables have their own. They get their optimizer, initialiser,
// precision and norms from here. `id` is unused.
struct LogicalTable : TableSpec {
  KindOptions kind_options;

  // What a bag of ids gives (as torch.nn.EmbeddingBag).
  std::string pooling = "sum";  // sum | mean | max
  // How sum and mean add up: bag_order (f32, left to right) or exact
  // (common/kernels/embedding_bag.h), which a bag that several shards pool needs.
  std::string pooling_sum = "bag_order";
  // Per-id weights of a sum: none; fixed (all 1: no effect, as in DLRM); learned (rows of width 1,
  // initial value 1, trained by the table's optimizer, always f32, never divided by lookups).
  std::string weighted_pooling = "none";
  std::optional<uint64_t> padding_id;  // lookups of it count as not there
  // What an id >= rows is: error; modulo (id mod rows); padding (not there).
  std::string bad_ids = "error";
  // Which shards own its rows (sharding/plans/strategy.h); "": as the run says. Decides no bit of
  // the model.
  std::string strategy;
  // Who pools its bags: workers | shards; "": as the run says. Decides no bit of the model.
  std::string pool_on;
  bool freeze = false;  // keeps its initial values; nothing of it is pushed
  // Of its rows, before the schedule of the run. Unset: the run's rate.
  std::optional<double> learning_rate;

  bool operator==(const LogicalTable&) const = default;

  // kUsage, naming the table and the field. Names of families are checked by their registries.
  Status Validate() const;
};

}  // namespace rowhouse
