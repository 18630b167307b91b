// The bytes of a shard's caches: dealt when it opens, then moved to where they save most misses, as
// the node's ledger says (ps/cache/cache_ledger.h). That changes which rows are in memory, nothing
// else.
//
// In every cache_move_steps-th step a round begins, and the shard asks. The step boundary after the
// answer carries it out, or begins to; then the shard says what it has, and asks again, until all
// is as it was decided.
#include <algorithm>
#include <cmath>
#include <utility>

#include "ps/node/memory_budget.h"
#include "ps/shard/shard.h"
#include "sharding/tables/table_sizes.h"

namespace rowhouse {

// One budget in bytes over all slices; what a slice does not need of its share goes to the larger
// ones, so that small tables are held whole.
void Shard::MakeCaches() {
  std::vector<std::pair<CutState*, SliceState*>> slices;
  std::vector<uint64_t> wanted;
  for (CutState& cut : cuts_) {
    for (SliceState& slice : cut.slices) {
      slices.emplace_back(&cut, &slice);
      wanted.push_back(slice.slice.rows() * cut.layout.bytes());
    }
  }
  const std::vector<uint64_t> shares = EqualShares(wanted, options_.cache_bytes);
  bool all_fit = true;
  for (size_t i = 0; i < slices.size(); ++i) {
    auto& [cut, slice] = slices[i];
    const uint64_t rows = slice->slice.rows();
    const uint64_t most_rows = CachedRows(rows, options_.node.cache_ratio);
    const uint64_t capacity = std::min(shares[i] / cut->layout.bytes(), most_rows);
    const TableAccesses* const accesses =
        options_.access_counts == nullptr ? nullptr : options_.access_counts->Find(cut->spec.name);
    if (accesses != nullptr) slice->frequencies = std::make_shared<RowAccessCounts>(*accesses);
    slice->cache = std::make_unique<RowCache>(RowCacheOptions{.layout = cut->layout,
                                                              .order = cut->order,
                                                              .first_row = slice->slice.row_begin,
                                                              .rows = rows,
                                                              .capacity_rows = capacity,
                                                              .ways = options_.node.cache_ways,
                                                              .policy = options_.node.cache_policy,
                                                              .frequencies = slice->frequencies});
    slice->cache_bytes = capacity * cut->layout.bytes();
    all_fit = all_fit && capacity >= most_rows;
  }
  CountCacheBytes();
  if (all_fit || options_.cache_move_steps == 0) return;
  // What is a direct array stays one, and nothing becomes one: that would take the memory of both.
  for (const auto& [cut, slice] : slices) {
    if (!slice->cache->is_direct()) moving_slices_.emplace_back(cut, slice);
  }
  const size_t rows_followed =
      ReuseSampler::RowsFor(options_.cache_bytes / kSamplesOfCache / moving_slices_.size());
  for (const auto& [cut, slice] : moving_slices_) {
    slice->reuse = std::make_unique<ReuseSampler>(rows_followed);
    slice->first_cache_bytes = slice->cache_bytes;
  }
  demands_.round = next_step_ / options_.cache_move_steps;
}

void Shard::CountCacheBytes() {
  stats_.cache_rows = stats_.cache_bytes = 0;
  for (const CutState& cut : cuts_) {
    for (const SliceState& slice : cut.slices) {
      stats_.cache_rows += slice.cache->capacity_rows();
      stats_.cache_bytes += slice.cache->capacity_rows() * cut.layout.bytes();
    }
  }
}

uint64_t Shard::granted_cache_bytes() const {
  uint64_t bytes = 0;
  for (const CutState& cut : cuts_) {
    for (const SliceState& slice : cut.slices) bytes += slice.cache_bytes;
  }
  return bytes;
}

// Between two steps: no row is needed but those announced, which a cache keeps when it is resized
// as far as it has room for them. Reads for announcements may be under way; what they bring is
// looked up anew when it comes, as after any eviction.
void Shard::MoveCaches() {
  if (moving_slices_.empty() || is_grant_awaited_ || IsBlocked() || !failure_.ok()) return;
  if (!reading_pulls_.empty()) return;
  if (!CarryOutGrant() || !failure_.ok()) return;
  if (next_step_ / options_.cache_move_steps > demands_.round) {
    BeginRound();
  } else if (grant_.is_settled) {
    return;
  }
  for (size_t i = 0; i < moving_slices_.size(); ++i) {
    demands_.slices[i].has_bytes = moving_slices_[i].second->cache_bytes;
  }
  is_grant_awaited_ = true;
  actions_.emplace_back(AskCacheBudget{demands_});
}

// Room for the rows of a step, twice, is left to every slice as far as it ever had it: a row that
// finds no place is read twice in a step and written at once.
void Shard::BeginRound() {
  const uint64_t round = next_step_ / options_.cache_move_steps;
  const auto steps = static_cast<double>((round - demands_.round) * options_.cache_move_steps);
  demands_ = {.round = round, .fixed_bytes = granted_cache_bytes(), .slices = {}};
  for (const auto& [cut, slice] : moving_slices_) {
    ReuseSampler& reuse = *slice->reuse;
    const uint64_t row_bytes = cut->layout.bytes(), rows = slice->slice.rows();
    const auto rows_a_step =
        static_cast<uint64_t>(std::ceil((reuse.accesses() - slice->accesses_before) / steps));
    const uint64_t least = (2 * rows_a_step + 1) * row_bytes;
    demands_.fixed_bytes -= slice->cache_bytes;
    demands_.slices.push_back(
        {.bytes = rows * row_bytes,
         .least_bytes = std::min(slice->first_cache_bytes, least),
         .most_bytes = std::min(CachedRows(rows, options_.node.cache_ratio), rows - 1) * row_bytes,
         .row_bytes = row_bytes,
         .accesses = reuse.accesses(),
         .miss_ratio = reuse.Curve(),
         .has_bytes = slice->cache_bytes});
    reuse.Age();
    slice->accesses_before = reuse.accesses();
  }
}

void Shard::OnCacheGranted(CacheGranted event) {
  CHECK(std::exchange(is_grant_awaited_, false)) << "granted what was not asked for";
  CHECK_EQ(event.grant.bytes.size(), moving_slices_.size());
  grant_ = std::move(event.grant);
  for (size_t i = 0; i < moving_slices_.size(); ++i) {
    const uint64_t has = moving_slices_[i].second->cache_bytes;
    stats_.cache_bytes_moved += std::max(grant_.bytes[i], has) - has;
  }
}

// Slices that shrink come first. False: goes on at the next boundary, when more is written.
bool Shard::CarryOutGrant() {
  for (const bool is_growth : {false, true}) {
    for (size_t i = 0; i < grant_.bytes.size(); ++i) {
      CutState& cut = *moving_slices_[i].first;
      SliceState& slice = *moving_slices_[i].second;
      const uint64_t bytes = grant_.bytes[i];
      if (bytes == slice.cache_bytes || (bytes > slice.cache_bytes) != is_growth) continue;
      // The sweeper's hand stays right where nothing is dirty, whatever slots rows have then. And
      // what leaves must not be more than may wait to be written.
      const bool is_large = slice.cache_bytes > bytes + options_.max_unwritten_bytes / 2;
      if ((is_large || options_.node.dirty_steps() != 0) && !CleanForMove(cut, slice)) return false;
      if (!failure_.ok()) return false;
      slice.cache->Resize(bytes / cut.layout.bytes(),
                          [&](const CacheVictim& victim) { TakeVictim(cut, slice, victim); });
      slice.cache_bytes = bytes;
      slice.hand = std::min(slice.hand, slice.cache->capacity_rows());
      CountCacheBytes();
    }
  }
  return true;
}

// Writes dirty rows piece by piece, as a save does, over as many step boundaries as that takes; at
// the last those that steps have changed meanwhile. True: none is dirty.
bool Shard::CleanForMove(CutState& cut, SliceState& slice) {
  const RowCache::Slot slots = slice.cache->capacity_rows();
  for (; slice.cleaned < slots && failure_.ok();) {
    if (unwritten_bytes_ >= options_.max_unwritten_bytes) return false;
    const RowCache::Slot end = std::min(slots, slice.cleaned + SlotsOfPiece(cut));
    WriteDirty(cut, slice, slice.cleaned, end);
    FlushQueuedWrites();
    slice.cleaned = end;
  }
  slice.cleaned = 0;
  WriteDirty(cut, slice, 0, slots);
  return true;
}

}  // namespace rowhouse
