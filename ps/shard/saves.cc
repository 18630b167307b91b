#include "ps/shard/saves.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace rowhouse {
namespace {

// The hand waits while this many bytes of delta writes are under way, which keep the disk busy.
uint64_t AheadBytes(const ShardOptions& options) {
  constexpr uint64_t kMaxBytes = uint64_t{4} << 20;
  return std::clamp<uint64_t>(options.max_unwritten_bytes / 2, 1, kMaxBytes);
}

// What the hand takes at once: the shard answers nobody meanwhile.
constexpr uint64_t kStrideBytes = uint64_t{1} << 20;

}  // namespace

Status Saves::Begin(const std::string& name) {
  if (save_) {
    return MakeStatus(StatusCode::kInternal, "{}: {} is asked for while {} is made",
                      state_.options.name, name, save_->name);
  }
  save_ = Save{.name = name, .steps = state_.next_step};
  last_ = {};
  // Rows that never leave the cache would need all delta files for ever: once these are twice as
  // large as all dirty rows, one of all of them takes their place.
  uint64_t bytes = 0;
  for (const WrittenDelta& delta : deltas_) bytes += delta.bytes;
  const bool begins_anew = bytes > 2 * marked_bytes_ && deltas_.back().steps < state_.next_step;
  rooms_.writer.Hold();
  rooms_.writer.marked().Mark(begins_anew ? std::vector<WrittenDelta>() : deltas_);
  return OkStatus();
}

bool Saves::HasRoomFor(uint64_t bytes) const {
  return !rooms_.writer.marked().is_walking() ||
         unwritten_bytes() + bytes <= state_.options.max_unwritten_bytes;
}

std::string Saves::WhyNoRoom() const {
  return fmt::format(
      "the save of step {} has {} MB of rows to write before the next step may change more",
      save_->steps, unwritten_bytes() >> 20);
}

void Saves::Continue() {
  if (!save_ || state_.has_failed()) return;
  NoteBlockage();
  if (!save_->no_room.empty()) return GiveUp();
  if (save_->cut == Cut::kNotYet && rooms_.writer.is_idle() && !rooms_.sweeper.is_syncing()) {
    save_->cut = Cut::kUnderWay;
    state_.out.Add(CutStore{.ticket = state_.out.TakeTicket(),
                            .name = save_->name,
                            .has_changes = save_->steps > state_.clean_at});
  }
  MarkedRows& marked = rooms_.writer.marked();
  Write(marked.TakeCopies());
  while (marked.is_walking() && waiting_bytes_ < AheadBytes(state_.options) &&
         !state_.has_failed()) {
    std::vector<StoreWrite> writes =
        marked.Walk(std::min(kStrideBytes, AheadBytes(state_.options)));
    const bool found_none = writes.empty();
    Write(std::move(writes));
    if (!found_none) continue;
    // Other events have their turn before more slots are looked at.
    if (save_->write_bytes_.empty()) {
      const uint64_t ticket = state_.out.TakeTicket();
      save_->write_bytes_.emplace(ticket, 0);
      state_.out.Add(WriteDelta{.ticket = ticket, .steps = save_->steps, .writes = {}});
    }
    break;
  }
  if (!marked.is_walking() && save_->write_bytes_.empty() && save_->cut == Cut::kDone &&
      !save_->is_part_made) {
    Finish();
  }
}

// A cut waits until no write is under way, a write perhaps for room that this save's files take.
void Saves::NoteBlockage() {
  constexpr TimeMs kPatienceMs = 10'000;  // a store that is compacted finds room by itself
  if (save_->cut != Cut::kNotYet || !state_.blockage.blocked.contains(Blocked::kStore)) {
    return save_->blocked_since.reset();
  }
  if (!save_->blocked_since) save_->blocked_since = state_.now;
  if (state_.now - *save_->blocked_since >= kPatienceMs) save_->no_room = state_.blockage.why;
}

void Saves::Write(std::vector<StoreWrite> writes) {
  if (writes.empty()) return;
  uint64_t bytes = 0;
  for (const StoreWrite& write : writes) {
    bytes += write.records.size();
    state_.counters.rows_saved += write.rows.size();
  }
  const uint64_t ticket = state_.out.TakeTicket();
  save_->has_delta = true;
  save_->write_bytes_.emplace(ticket, bytes);
  waiting_bytes_ += bytes;
  state_.out.Add(WriteDelta{.ticket = ticket, .steps = save_->steps, .writes = std::move(writes)});
}

void Saves::Finish() {
  save_->is_part_made = true;
  MakePart action{.ticket = state_.out.TakeTicket(),
                  .name = save_->name,
                  .steps = save_->steps,
                  .deltas = {},
                  .written_rows = {}};
  for (const WrittenDelta& delta : rooms_.writer.marked().written()) {
    if (delta.is_needed) action.deltas.push_back(delta.steps);
  }
  if (save_->has_delta) action.deltas.push_back(save_->steps);
  // More rows than were written until the mark may be in it, which does no harm.
  if (state_.options.keeps_written_rows) {
    action.written_rows = rooms_.tables.WrittenSlices();
  }
  state_.out.Add(std::move(action));
}

// Ends the save once the save thread has nothing of it to do: the store may not be written to while
// it is cut.
void Saves::GiveUp() {
  rooms_.writer.marked().Stop();
  if (!save_->write_bytes_.empty() || save_->cut == Cut::kUnderWay) return;
  if (rooms_.writer.is_held()) rooms_.writer.Release();
  ++deletions_;
  state_.out.Add(DropPart{.name = save_->name});
  last_ = {.no_room = save_->no_room};
  save_.reset();
}

bool Saves::Check(const Status& status) {
  if (status.code() == StatusCode::kResourceExhausted) {
    if (save_->no_room.empty()) save_->no_room = status.message();
  } else if (!status.ok()) {
    state_.Fail(status);
  }
  return status.ok();
}

void Saves::OnCut(const StoreCut& event) {
  save_->cut = Cut::kDone;
  if (Check(event.status)) rooms_.writer.Release();
}

void Saves::OnDeltaWritten(const DeltaWritten& event) {
  waiting_bytes_ -= save_->write_bytes_.extract(event.ticket).mapped();
  Check(event.status);
}

void Saves::OnPartMade(const PartMade& event) {
  if (!Check(event.status)) return;
  const std::vector<WrittenDelta>& earlier = rooms_.writer.marked().written();
  deltas_.clear();
  std::ranges::copy_if(earlier, std::back_inserter(deltas_), &WrittenDelta::is_needed);
  if (save_->has_delta) {
    deltas_.push_back({.after = earlier.empty() ? 0 : earlier.back().steps,
                       .steps = save_->steps,
                       .bytes = event.delta_bytes});
  }
  marked_bytes_ = rooms_.writer.marked().marked_bytes();
  last_ = {.directory = event.directory,
           .checksum = event.checksum,
           .bytes = event.bytes,
           .parts = event.parts};
  save_.reset();
}

void Saves::Delete(const CheckpointRequest& request, uint64_t steps) {
  ++deletions_;
  state_.out.Add(DeletePartsOf{.names = request.deleted, .whole = request.name, .steps = steps});
}

void Saves::OnPartsDeleted(const PartsDeleted& event) {
  --deletions_;
  if (!event.status.ok()) return state_.Fail(event.status);
  last_.parts = event.parts;
}

CheckpointReply Saves::Report() const {
  CheckpointReply reply = last_;
  reply.is_under_way = save_.has_value() || deletions_ > 0;
  reply.changed_bytes = rooms_.writer.marked().changed_bytes();
  return reply;
}

}  // namespace rowhouse
