#include "ps/shard/cache_moves.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "ps/shard/memory_budget.h"
#include "sharding/tables/table_sizes.h"

namespace rowhouse {

CacheMoves::CacheMoves(ShardState& state, const Rooms& rooms) : state_(state), rooms_(rooms) {
  CountBytes();
  const ShardOptions& options = state.options;
  const std::vector<LocalSlice*>& slices = rooms.tables.slices();
  const bool all_fit = std::ranges::all_of(slices, [&](const LocalSlice* slice) {
    return slice->cache_bytes >=
           CachedRows(slice->range.rows(), options.node.cache_ratio) * slice->store.record_bytes;
  });
  if (all_fit || options.cache_move_steps == 0) return;
  // A direct array stays one, and no cache becomes one: that would take the memory of both.
  for (LocalSlice* slice : slices) {
    if (slice->cache->is_direct()) continue;
    moving_.push_back({.slice = slice, .reuse = nullptr, .first_bytes = slice->cache_bytes});
  }
  const size_t rows_followed =
      ReuseSampler::RowsFor(options.cache_bytes / kSamplesOfCache / moving_.size());
  for (Moving& moving : moving_) {
    moving.reuse = std::make_unique<ReuseSampler>(rows_followed);
    moving.slice->reuse = moving.reuse.get();
  }
  demands_.round = state.next_step / options.cache_move_steps;
}

void CacheMoves::CountBytes() {
  state_.counters.cache_rows = state_.counters.cache_bytes = 0;
  for (const LocalSlice* slice : rooms_.tables.slices()) {
    state_.counters.cache_rows += slice->cache->capacity_rows();
    state_.counters.cache_bytes += slice->cache->capacity_rows() * slice->store.record_bytes;
  }
}

void CacheMoves::OnStepApplied() {
  if (!is_on() || is_grant_awaited_ || state_.blockage.is_blocked() || state_.has_failed() ||
      rooms_.writer.marked().is_walking()) {
    return;
  }
  if (!CarryOutGrant() || state_.has_failed()) return;
  if (state_.next_step / state_.options.cache_move_steps > demands_.round) {
    BeginRound();
  } else if (grant_.is_settled) {
    return;
  }
  for (size_t i = 0; i < moving_.size(); ++i) {
    demands_.slices[i].has_bytes = moving_[i].slice->cache_bytes;
  }
  is_grant_awaited_ = true;
  state_.out.Add(AskCacheBudget{demands_});
}

// Room for the rows of a step, twice, is left to every slice as far as it ever had it: a row that
// finds no slot is read twice in a step and written at once.
void CacheMoves::BeginRound() {
  const uint64_t round = state_.next_step / state_.options.cache_move_steps;
  const auto steps =
      static_cast<double>((round - demands_.round) * state_.options.cache_move_steps);
  demands_ = {.round = round, .fixed_bytes = rooms_.tables.granted_cache_bytes(), .slices = {}};
  for (Moving& moving : moving_) {
    const LocalSlice& slice = *moving.slice;
    ReuseSampler& reuse = *moving.reuse;
    const uint64_t row_bytes = slice.store.record_bytes, rows = slice.range.rows();
    const auto rows_a_step =
        static_cast<uint64_t>(std::ceil((reuse.accesses() - moving.accesses_before) / steps));
    const uint64_t least = (2 * rows_a_step + 1) * row_bytes;
    const uint64_t most_rows =
        std::min(CachedRows(rows, state_.options.node.cache_ratio), rows - 1);
    demands_.fixed_bytes -= slice.cache_bytes;
    demands_.slices.push_back({.bytes = rows * row_bytes,
                               .least_bytes = std::min(moving.first_bytes, least),
                               .most_bytes = most_rows * row_bytes,
                               .row_bytes = row_bytes,
                               .accesses = reuse.accesses(),
                               .miss_ratio = reuse.Curve(),
                               .has_bytes = slice.cache_bytes});
    reuse.Age();
    moving.accesses_before = reuse.accesses();
  }
}

void CacheMoves::OnGranted(CacheGranted event) {
  CHECK(std::exchange(is_grant_awaited_, false)) << "granted what was not asked for";
  CHECK_EQ(event.grant.bytes.size(), moving_.size());
  grant_ = std::move(event.grant);
  for (size_t i = 0; i < moving_.size(); ++i) {
    const uint64_t has = moving_[i].slice->cache_bytes;
    state_.counters.cache_bytes_moved += std::max(grant_.bytes[i], has) - has;
  }
}

// Slices that shrink come first. False: goes on at the next boundary, when more is written.
bool CacheMoves::CarryOutGrant() {
  for (const bool is_growth : {false, true}) {
    for (size_t i = 0; i < grant_.bytes.size(); ++i) {
      const uint64_t bytes = grant_.bytes[i], has = moving_[i].slice->cache_bytes;
      if (bytes == has || (bytes > has) != is_growth) continue;
      if (!Resize(moving_[i], bytes)) return false;
    }
  }
  return true;
}

bool CacheMoves::Resize(Moving& moving, uint64_t bytes) {
  LocalSlice& slice = *moving.slice;
  // The sweeper's hand stays right where nothing is dirty, whatever slots rows have then. And what
  // leaves must not be more than may wait to be written.
  const bool is_large = slice.cache_bytes > bytes + state_.options.max_unwritten_bytes / 2;
  if ((is_large || rooms_.sweeper.is_on()) && !Clean(moving)) return false;
  if (state_.has_failed()) return false;
  slice.cache->Resize(bytes / slice.store.record_bytes, [&](const CacheVictim& victim) {
    rooms_.admission.TakeVictim(slice, victim);
  });
  slice.cache_bytes = bytes;
  rooms_.sweeper.OnResized(slice);
  CountBytes();
  return true;
}

// Writes dirty rows piece by piece, over as many step boundaries as that takes; at the last those
// that steps have changed meanwhile. True: none is dirty.
bool CacheMoves::Clean(Moving& moving) {
  LocalSlice& slice = *moving.slice;
  const RowCache::Slot slots = slice.cache->capacity_rows();
  while (moving.cleaned < slots && !state_.has_failed()) {
    if (!rooms_.writer.has_room()) return false;
    const RowCache::Slot end = std::min(slots, moving.cleaned + rooms_.writer.SlotsOfPiece(slice));
    rooms_.writer.QueueDirty(slice, moving.cleaned, end);
    rooms_.writer.Flush();
    moving.cleaned = end;
  }
  moving.cleaned = 0;
  rooms_.writer.QueueDirty(slice, 0, slots);
  return true;
}

}  // namespace rowhouse
