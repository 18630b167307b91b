// What a new store keeps of an old one: ranges of rows that lie there with the same columns. Their
// files are linked and not written again.
//
// RocksDB takes over no file that another database has made (IngestExternalFile). So the new store
// begins as a copy of one old store, by links, and drops all other rows
// (RowStoreOptions::keeps_only). An old store may be the beginning of several new ones.
#pragma once

#include <map>
#include <vector>

#include "common/types.h"
#include "ps/store/row_store.h"
#include "sharding/plans/plan.h"

namespace rowhouse {

struct KeptRows {
  ShardId from{};                // of the saved plan
  std::vector<RowRange> ranges;  // ascending, apart from one another
};

// By shard of `plan`: the old shard that holds most bytes of its rows, and these rows. A shard is
// left out if copying that old store would save no writing. Both are plans of the same tables.
// `stores`: those of the saved plan's shards whose files can be linked. The same arguments give the
// same answer.
std::map<ShardId, KeptRows> ChooseKeptRows(const Plan& saved, const Plan& plan,
                                           const std::map<ShardId, const RowStore*>& stores);

}  // namespace rowhouse
