// The wide part of a model (Wide & Deep, Cheng et al., 2016; the first-order part of DeepFM, Guo et
// al., 2017): each row of a table has a first-order weight, and the weights of a sample's ids are
// added to its logit, beside what the deep part makes of the rows.
//
// The weights of table T are a table "T.wide" of its own, of width 1. It has a row for each row of
// T's physical tables, so it fits every kind: an id has the weight of each of the rows that it
// reads, and they are added, however the kind combines the rows. It is sharded, cached, trained and
// saved like any table.
// Threads: plain functions.
#pragma once

#include <memory>

#include "sharding/tables/logical_table.h"
#include "sharding/tables/table_kind.h"

namespace rowhouse {

// Optimizer, learning rate, freezing, padding, strategy and pool_on are the table's. A weight
// begins as 0 and is an f32; it has no max_norm. A bag's weights are added, times the data's own
// weights if it has some; of a table of pooling mean they are divided by the number of ids. Learned
// weights of ids (weighted_pooling) do not scale them.
LogicalTable WideTableOf(const LogicalTable& table);

// The kind of `wide`, as WideTableOf gives it for a table of kind `kind`.
std::shared_ptr<const TableKind> WideKindOf(std::shared_ptr<const TableKind> kind,
                                            const LogicalTable& wide);

}  // namespace rowhouse
