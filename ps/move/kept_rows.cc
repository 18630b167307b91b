#include "ps/move/kept_rows.h"

#include <algorithm>
#include <utility>

namespace rowhouse {
namespace {

// By new shard, then old one.
using SharedRanges = std::map<std::pair<ShardId, ShardId>, std::vector<RowRange>>;

bool HasOneOf(const Plan::Band& band, ShardId shard) {
  return std::ranges::count(band.cuts, shard, &Slice::shard) == 1;
}

// A row whose columns lie in several records of one shard is not kept: a range of keys has all of
// them, and each may go elsewhere.
void AddShared(const Plan::Band& saved, const Plan::Band& band, SharedRanges* shared) {
  const RowRange range = {.table = band.cuts[0].table,
                          .first = RowId{std::max(saved.row_begin, band.row_begin)},
                          .end = RowId{std::min(saved.row_end, band.row_end)}};
  const bool is_cut_alike =
      std::ranges::equal(saved.cuts, band.cuts, [](const Slice& a, const Slice& b) {
        return a.column_begin == b.column_begin && a.column_end == b.column_end;
      });
  if (!is_cut_alike || range.first >= range.end) return;
  for (size_t i = 0; i < band.cuts.size(); ++i) {
    const ShardId to = band.cuts[i].shard, from = saved.cuts[i].shard;
    if (!HasOneOf(band, to) || !HasOneOf(saved, from)) continue;
    std::vector<RowRange>& ranges = (*shared)[{to, from}];
    if (!ranges.empty() && ranges.back().table == range.table && ranges.back().end == range.first) {
      ranges.back().end = range.end;
    } else {
      ranges.push_back(range);
    }
  }
}

// Scattered rows are in no order of keys, and rows that come from or go to the workers lie among
// those of shards.
bool IsInOrderOnShards(const Plan& plan, TableId table) {
  return !plan.order(table).is_scattered() && plan.worker_rows(table).empty() &&
         !plan.is_on_workers(table);
}

SharedRanges SharedBy(const Plan& saved, const Plan& plan) {
  SharedRanges shared;
  for (uint32_t t = 0; t < plan.tables(); ++t) {
    if (!IsInOrderOnShards(saved, TableId{t}) || !IsInOrderOnShards(plan, TableId{t})) continue;
    const std::vector<Plan::Band> olds = saved.bands(TableId{t}), news = plan.bands(TableId{t});
    for (auto a = olds.begin(), b = news.begin(); a != olds.end() && b != news.end();) {
      AddShared(*a, *b, &shared);
      ++(a->row_end <= b->row_end ? a : b);
    }
  }
  return shared;
}

}  // namespace

std::map<ShardId, KeptRows> ChooseKeptRows(const Plan& saved, const Plan& plan,
                                           const std::map<ShardId, const RowStore*>& stores) {
  // Links and files that are dropped whole cost next to nothing. At each end of a range a file a
  // level is rewritten, and all files of level 0: of the 128 or more of a large store
  // (RowFileSizes) about a tenth. So with more than an eighth of it, less is written than if the
  // rows were.
  constexpr uint64_t kMinPart = 8;
  std::map<ShardId, KeptRows> kept;
  std::map<ShardId, uint64_t> most;
  for (auto& [shards, ranges] : SharedBy(saved, plan)) {
    const auto& [to, from] = shards;
    const auto store = stores.find(from);
    if (store == stores.end()) continue;
    uint64_t bytes = 0;
    for (const RowRange& range : ranges) bytes += store->second->BytesOf(range);
    if (bytes <= store->second->counters().file_bytes / kMinPart || bytes <= most[to]) continue;
    most[to] = bytes;
    kept[to] = {.from = from, .ranges = std::move(ranges)};
  }
  return kept;
}

}  // namespace rowhouse
