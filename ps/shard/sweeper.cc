#include "ps/shard/sweeper.h"

#include <algorithm>
#include <cmath>

namespace rowhouse {

// Share of the lap that is over.
double Sweeper::Progress() const {
  const ShardOptions& options = state_.options;
  const double steps = static_cast<double>(state_.next_step - state_.lap_began) /
                       static_cast<double>(options.node.dirty_steps());
  if (!options.node.logs_pushes()) return steps;
  return std::max(steps, static_cast<double>(state_.counters.log_bytes - log_began_) /
                             static_cast<double>(options.max_lap_log_bytes));
}

void Sweeper::OnStepApplied() {
  if (!is_on()) return;
  const double progress = Progress();
  const uint64_t written_before = state_.counters.rows_written;
  for (LocalSlice* slice : rooms_.tables.slices()) {
    const RowCache::Slot slots = slice->cache->capacity_rows();
    const auto end = progress >= 1.0 ? slots
                                     : std::min(slots, static_cast<RowCache::Slot>(std::ceil(
                                                           progress * static_cast<double>(slots))));
    RowCache::Slot& hand = hands_[slice->number];
    if (end <= hand) continue;
    rooms_.writer.QueueDirty(*slice, hand, end);
    hand = end;
  }
  state_.counters.rows_swept += state_.counters.rows_written - written_before;
  // While the last lap's sync is under way this lap goes on: on a slow disk syncs would queue up,
  // and the log would grow by a lap for each. And a sync does not cover writes that are held.
  if (progress < 1.0 || state_.has_failed()) return;
  const bool may_sync = syncs_.empty() && !rooms_.writer.is_held();
  if (!state_.options.node.logs_pushes() || may_sync) EndLap();
}

void Sweeper::EndLap() {
  rooms_.writer.Flush();
  if (state_.options.node.logs_pushes()) {
    const uint64_t ticket = state_.out.TakeTicket();
    NoteSync(ticket, state_.lap_began);
    state_.out.Add(SyncStore{.ticket = ticket, .steps = state_.next_step, .is_clean = false});
  }
  state_.lap_began = state_.next_step;
  log_began_ = state_.counters.log_bytes;
  std::ranges::fill(hands_, RowCache::Slot{0});
}

void Sweeper::OnResized(const LocalSlice& slice) {
  RowCache::Slot& hand = hands_[slice.number];
  hand = std::min(hand, slice.cache->capacity_rows());
}

void Sweeper::OnSynced(uint64_t ticket) {
  const auto sync = syncs_.extract(ticket);
  if (sync.empty() || state_.has_failed() || !state_.options.node.logs_pushes()) return;
  state_.out.Add(TruncateLog{.low_water = sync.mapped()});
}

}  // namespace rowhouse
