#include "ps/shard/controls.h"

#include <algorithm>
#include <utility>

namespace rowhouse {

// A worker waits for the answer before it asks again, and asks again only when a deadline passed.
Status Controls::CheckNumber(uint32_t worker) const {
  constexpr size_t kMaxOfWorker = 16;
  size_t waiting = 0;
  for (const ControlTask& task : parked_) waiting += task.request.header.sender == worker;
  for (const auto& [ticket, request] : in_store_) waiting += request.header.sender == worker;
  if (waiting < kMaxOfWorker) return OkStatus();
  return MakeStatus(StatusCode::kResourceExhausted,
                    "{}: worker {} asks again and again: {} requests of it wait",
                    state_.options.name, worker, waiting);
}

Status Controls::Park(Request request, CheckpointRequest checkpoint) {
  RETURN_IF_ERROR(CheckNumber(request.header.sender));
  const Blockage& blockage = state_.blockage;
  const bool is_blocked = blockage.is_blocked();
  const bool was_blocked =
      blockage.last_at && state_.now - *blockage.last_at < TimeMs{request.header.deadline_ms};
  if (request.header.type == MessageType::kStats && (is_blocked || was_blocked)) {
    state_.out.Answer(request, BusyReply{.message = fmt::format("{} {}: {}", state_.options.name,
                                                                is_blocked ? "waits" : "has waited",
                                                                blockage.why)});
  }
  parked_.push_back({.request = std::move(request), .checkpoint = std::move(checkpoint)});
  return OkStatus();
}

void Controls::Serve() {
  for (ControlTask& task : std::exchange(parked_, {})) {
    if (task.request.header.step <= state_.next_step && !state_.has_failed()) {
      ServeOne(std::move(task));
    } else {
      parked_.push_back(std::move(task));
    }
  }
}

void Controls::ServeOne(ControlTask task) {
  Request& request = task.request;
  if (request.header.type == MessageType::kStats) {  // Of now, whatever step was asked about.
    const uint64_t ticket = state_.out.TakeTicket();
    state_.out.Add(CountStore{.ticket = ticket});
    in_store_.emplace(ticket, std::move(request));
    return;
  }
  if (request.header.step != state_.next_step) {
    return state_.out.Refuse(
        request, MakeStatus(StatusCode::kInternal, "{}: asked about step {}, but step {} is next",
                            state_.options.name, request.header.step, state_.next_step));
  }
  if (request.header.type == MessageType::kCheckpoint) {
    if (const Status begun = rooms_.saves.Begin(task.checkpoint.name); !begun.ok()) {
      return state_.out.Refuse(request, begun);
    }
    return state_.out.Answer(request, rooms_.saves.Report());
  }
  if (save_ || rooms_.saves.is_under_way()) return parked_.push_back(std::move(task));
  save_ = Save{.task = std::move(task)};
  ContinueSave();
}

Status Controls::Checkpoint(Request request, CheckpointRequest checkpoint) {
  if (checkpoint.phase == CheckpointPhase::kMark) {
    return Park(std::move(request), std::move(checkpoint));
  }
  if (checkpoint.phase == CheckpointPhase::kDelete) {
    rooms_.saves.Delete(checkpoint, request.header.step);
  }
  state_.out.Answer(request, rooms_.saves.Report());
  return OkStatus();
}

// ---- FLUSH and DIGEST -------------------------------------------------------------------------

// Copies of rows under way to the store take bounded memory, however many are dirty: RowsWritten
// makes room for more.
void Controls::ContinueSave() {
  const std::vector<LocalSlice*>& slices = rooms_.tables.slices();
  for (; save_->slice < slices.size(); ++save_->slice, save_->next = 0) {
    if (!WriteSlice(*slices[save_->slice], &save_->next)) return;
  }
  EndSave();
}

// False: there is no room for more now, or the shard has failed.
bool Controls::WriteSlice(LocalSlice& slice, RowCache::Slot* next) {
  const RowCache::Slot slots = slice.cache->capacity_rows();
  const RowCache::Slot piece = rooms_.writer.SlotsOfPiece(slice);
  while (*next < slots) {
    if (!rooms_.writer.has_room()) return false;
    const RowCache::Slot end = std::min(slots, *next + piece);
    rooms_.writer.QueueDirty(slice, *next, end);
    if (state_.has_failed()) return false;
    rooms_.writer.Flush();
    *next = end;
  }
  return true;
}

void Controls::EndSave() {
  ControlTask task = std::move(save_->task);
  save_.reset();
  const uint64_t ticket = state_.out.TakeTicket();
  if (task.request.header.type == MessageType::kFlush) {
    rooms_.sweeper.NoteSync(ticket, state_.next_step);  // A change's LSN is its step + 1.
    state_.clean_at = state_.next_step;
    SyncStore sync{.ticket = ticket, .steps = state_.next_step};
    if (state_.options.keeps_written_rows) sync.written_rows = rooms_.tables.WrittenSlices();
    state_.out.Add(std::move(sync));
  } else {
    state_.out.Add(ScanStore{.ticket = ticket});
  }
  in_store_.emplace(ticket, std::move(task.request));
}

// ---- Answers of the store -----------------------------------------------------------------------

std::optional<Request> Controls::TakeWaiting(uint64_t ticket) {
  auto request = in_store_.extract(ticket);
  if (request.empty()) return std::nullopt;
  return std::move(request.mapped());
}

void Controls::OnSynced(const StoreSynced& event) {
  const auto request = TakeWaiting(event.ticket);
  if (!request) return;
  FlushReply reply;
  reply.stamp = event.stamp;
  state_.out.Answer(*request, reply);
}

void Controls::OnScanned(const StoreScanned& event) {
  if (!event.status.ok()) state_.Fail(event.status);
  const auto request = state_.has_failed() ? std::nullopt : TakeWaiting(event.ticket);
  if (!request) return;
  DigestReply reply;
  reply.low = event.digest_low;
  reply.high = event.digest_high;
  reply.rows = event.rows;
  state_.out.Answer(*request, reply);
}

// A shard that nobody times answers with nothing.
Status Controls::Profile(Request request, ProfileWish wish) {
  RETURN_IF_ERROR(CheckNumber(request.header.sender));
  ShardPhases* const phases = state_.phases;
  if (wish == ProfileWish::kTake && phases != nullptr) {
    const uint64_t ticket = state_.out.TakeTicket();
    state_.out.Add(CountStore{.ticket = ticket});
    in_store_.emplace(ticket, std::move(request));
    return OkStatus();
  }
  if (wish == ProfileWish::kBegin && phases != nullptr) phases->KeepSpans();
  ProfileReply reply;
  if (phases != nullptr) reply.now_ns = phases->shard.Now();
  state_.out.Answer(request, reply);
  return OkStatus();
}

void Controls::AnswerProfile(const Request& request, const StoreCounted& event) {
  ProfileReply reply;
  reply.now_ns = state_.phases->shard.Now();
  reply.pid = state_.phases->pid;
  reply.threads = state_.phases->Records();
  reply.messages = state_.phases->messages.Answered();
  const RowStoreCounters& store = event.counters;
  reply.memory = {{.name = "cache", .bytes = state_.counters.cache_bytes},
                  {.name = "memtables", .bytes = store.memtable_bytes},
                  {.name = "table readers", .bytes = store.table_reader_bytes},
                  {.name = "block cache", .bytes = store.block_cache_bytes},
                  {.name = "pushes", .bytes = state_.most_push_bytes},
                  {.name = "answers", .bytes = state_.most_answer_bytes}};
  reply.process_peak_bytes = event.process_peak_bytes;
  state_.out.Answer(request, reply);
}

void Controls::OnCounted(const StoreCounted& event) {
  const auto request = TakeWaiting(event.ticket);
  if (!request) return;
  if (request->header.type == MessageType::kProfile) return AnswerProfile(*request, event);
  const RowStoreCounters& store = event.counters;
  StatsReply reply;
  static_cast<ShardCounters&>(reply) = state_.counters;
  reply.store_rows_read = store.rows_read;
  reply.store_stalls = store.stalls;
  reply.store_stall_ms = store.stall_ms;
  reply.store_bytes_read = store.file_bytes_read;
  reply.store_bytes_written = store.bytes_flushed + store.bytes_compacted;
  reply.store_file_bytes = store.file_bytes;
  reply.process_peak_bytes = event.process_peak_bytes;
  reply.tables = rooms_.tables.Stats();
  if (state_.phases != nullptr) reply.times = state_.phases->Times();
  state_.out.Answer(*request, reply);
}

// ---- Those who wait -----------------------------------------------------------------------------

void Controls::ForEachWaiting(const std::function<void(Request&)>& visit) {
  for (ControlTask& task : parked_) visit(task.request);
  for (auto& [ticket, request] : in_store_) visit(request);
}

void Controls::VisitSaving(const std::function<void(Request&)>& visit) {
  if (save_) visit(save_->task.request);
}

void Controls::Clear() {
  parked_.clear();
  in_store_.clear();
  save_.reset();
}

}  // namespace rowhouse
