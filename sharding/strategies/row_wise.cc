#include "sharding/strategies/row_wise.h"

namespace rowhouse {

Plan MakeRowWisePlan(const std::vector<TableSpec>& tables, uint32_t shards,
                     const std::vector<bool>& on_workers) {
  CHECK_GT(shards, 0u);
  CHECK(on_workers.empty() || on_workers.size() == tables.size());
  std::vector<Slice> slices;
  for (size_t t = 0; t < tables.size(); ++t) {
    if (!on_workers.empty() && on_workers[t]) {
      slices.push_back({.table = tables[t].id,
                        .row_begin = 0,
                        .row_end = tables[t].rows,
                        .column_begin = 0,
                        .column_end = tables[t].dim,
                        .shard = kOnWorkers});
      continue;
    }
    // 128 bits, because rows * shards may pass 2^64.
    const auto cut = [&](uint32_t piece) {
      return static_cast<uint64_t>(static_cast<unsigned __int128>(tables[t].rows) * piece / shards);
    };
    for (uint32_t piece = 0; piece < shards; ++piece) {
      if (cut(piece) == cut(piece + 1)) continue;
      slices.push_back({.table = tables[t].id,
                        .row_begin = cut(piece),
                        .row_end = cut(piece + 1),
                        .column_begin = 0,
                        .column_end = tables[t].dim,
                        .shard = ShardId{static_cast<uint32_t>((piece + t) % shards)}});
    }
  }
  return Plan::Make(tables, shards, std::move(slices)).value();
}

}  // namespace rowhouse
