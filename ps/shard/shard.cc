#include "ps/shard/shard.h"

#include <glog/logging.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace rowhouse {
namespace {

constexpr TimeMs kTellAgainMs = 1000;  // that a save is waited for

}  // namespace

Shard::Shard(const ShardOptions& options, LocalTables tables)
    : state_(options),
      tables_(std::move(tables)),
      writer_(state_, tables_),
      reader_(state_, writer_),
      admission_(state_, tables_, writer_),
      requests_(state_, tables_),
      refusals_(state_),
      sweeper_(state_, {.tables = tables_, .writer = writer_}),
      saves_(state_, {.tables = tables_, .writer = writer_, .sweeper = sweeper_}),
      controls_(state_,
                {.tables = tables_, .writer = writer_, .sweeper = sweeper_, .saves = saves_}),
      prefetches_(
          state_,
          {.tables = tables_, .reader = reader_, .writer = writer_, .admission = admission_}),
      preload_(state_, {.tables = tables_, .reader = reader_}),
      cache_moves_(
          state_,
          {.tables = tables_, .writer = writer_, .admission = admission_, .sweeper = sweeper_}),
      pushes_(state_, tables_),
      pulls_(state_, {.tables = tables_,
                      .reader = reader_,
                      .admission = admission_,
                      .prefetches = prefetches_,
                      .pushes = pushes_}),
      update_(state_,
              {.tables = tables_, .reader = reader_, .writer = writer_, .admission = admission_},
              [this] { OnStepApplied(); }) {}

Result<std::unique_ptr<Shard>> Shard::Make(const ShardOptions& options,
                                           const std::vector<TableSpec>& tables, const Plan& plan,
                                           const InitialiserSources& sources) {
  CHECK_EQ(plan.tables(), tables.size());
  CHECK_GT(options.workers, 0u);
  ASSIGN_OR_RETURN(LocalTables local, LocalTables::Make(options, tables, plan, sources));
  return std::unique_ptr<Shard>(new Shard(options, std::move(local)));
}

std::vector<ShardAction> Shard::Handle(ShardEvent event, TimeMs now) {
  state_.now = now;
  if (!std::exchange(has_begun_, true)) preload_.Start();
  Dispatch(event);
  state_.End(std::holds_alternative<MessageArrived>(event) ? ShardPhase::kDecode
             : std::holds_alternative<RowsRead>(event) || std::holds_alternative<RowsWritten>(event)
                 ? ShardPhase::kStore
                 : ShardPhase::kOther);
  const bool serves_all = Advance();
  saves_.Continue();
  if (state_.has_failed()) RefuseAll();
  NoteWaitForSave();
  const bool has_work = CanApplyStep() || update_.has_rows_left() || !serves_all;
  if (has_work && !state_.has_failed()) {
    // Few answers are to be in memory, and workers are not to be steps ahead.
    state_.out.Add(
        CallAgain{.takes_messages = serves_all && !pushes_.IsComplete(state_.next_step + 1)});
  } else {
    writer_.Flush();
    AskWakeUp();
  }
  return state_.out.TakeActions();
}

namespace {

template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};

}  // namespace

void Shard::Dispatch(ShardEvent& event) {
  std::visit(Overloaded{
                 [&](MessageArrived& arrived) { OnMessage(std::move(arrived)); },
                 [&](RowsRead& read) { reader_.OnRowsRead(std::move(read)); },
                 [&](RowsWritten& written) { writer_.OnRowsWritten(written); },
                 [&](StoreSynced& synced) { OnSynced(synced); },
                 [&](StoreCut& cut) { saves_.OnCut(cut); },
                 [&](DeltaWritten& written) { saves_.OnDeltaWritten(written); },
                 [&](PartMade& made) { saves_.OnPartMade(made); },
                 [&](PartsDeleted& deleted) { saves_.OnPartsDeleted(deleted); },
                 [&](StoreScanned& scanned) { controls_.OnScanned(scanned); },
                 [&](StoreCounted& counted) { controls_.OnCounted(counted); },
                 [&](LogAppended& appended) { pushes_.OnLogAppended(appended); },
                 [&](LogTruncated& truncated) {
                   if (!truncated.status.ok()) state_.Fail(truncated.status);
                 },
                 [&](StoreBlocked& blocked) { OnBlocked(blocked); },
                 [&](StoreUnblocked& unblocked) { OnUnblocked(unblocked); },
                 [&](CacheGranted& granted) { cache_moves_.OnGranted(std::move(granted)); },
                 [&](Tick&) { OnTick(); },
                 [&](Continue&) { ApplyStep(); },
             },
             event);
}

// ---- Messages -----------------------------------------------------------------------------------

void Shard::OnMessage(MessageArrived event) {
  Result<Message> unpacked = Unpack(std::move(event.frames));
  if (!unpacked.ok()) return state_.out.Refuse({.peer = event.peer}, unpacked.status());
  Message message = std::move(unpacked).value();
  Request request{.peer = std::move(event.peer),
                  .header = message.header,
                  .deadline = state_.DeadlineOf(message.header)};
  Status status = requests_.CheckHeader(request.header);
  if (status.ok()) {
    status = senders_.Check(request.peer, request.header).Annotate(state_.options.name);
  }
  if (status.ok()) status = state_.failure;
  if (!status.ok()) return state_.out.Refuse(request, status);
  status = Take(request, std::move(message));
  if (status.code() == StatusCode::kCorruption) {
    refusals_.Refuse(std::move(request), std::move(status));
  } else if (!status.ok()) {
    state_.out.Refuse(request, status);
  }
}

// What cannot be served now is parked; Advance serves it at once if it can.
Status Shard::Take(Request request, Message message) {
  switch (request.header.type) {
    case MessageType::kPull: {
      ASSIGN_OR_RETURN(PullTask pull, requests_.ReadPull(request.peer, std::move(message)));
      return pulls_.Park(std::move(pull));
    }
    case MessageType::kPush: {
      ASSIGN_OR_RETURN(PushPart part, requests_.ReadPush(std::move(message)));
      pushes_.Take(request, std::move(part), update_.is_under_way());
      return OkStatus();
    }
    case MessageType::kPrefetch:
      TakePrefetch(std::move(message));
      return OkStatus();
    case MessageType::kFlush:
    case MessageType::kDigest:
    case MessageType::kStats:
      RETURN_IF_ERROR(requests_.CheckControl(request.header));
      return controls_.Park(std::move(request));
    case MessageType::kProfile: {
      ASSIGN_OR_RETURN(const ProfileRequest profile, DecodeBody<ProfileRequest>(message));
      return controls_.Profile(std::move(request), static_cast<ProfileWish>(profile.wish));
    }
    case MessageType::kCheckpoint: {
      ASSIGN_OR_RETURN(CheckpointRequest checkpoint, requests_.ReadCheckpoint(message));
      RETURN_IF_ERROR(requests_.CheckControl(request.header));
      return controls_.Checkpoint(std::move(request), std::move(checkpoint));
    }
    default:
      return CorruptionError("{}: a shard takes no message of type {}", state_.options.name,
                             static_cast<int>(request.header.type));
  }
}

// A prefetch is not answered, so what is wrong with it is logged here.
void Shard::TakePrefetch(Message message) {
  const uint32_t worker = message.header.sender;
  const Result<PrefetchTask> task = requests_.ReadPrefetch(std::move(message));
  if (task.ok()) return prefetches_.Start(task.value());
  LOG(WARNING) << state_.options.name << ": prefetch of worker " << worker
               << " ignored: " << task.status().message();
}

// ---- Steps --------------------------------------------------------------------------------------

bool Shard::Advance() {
  if (controls_.is_saving() && !state_.has_failed()) controls_.ContinueSave();
  if (state_.has_failed() || update_.is_under_way() || !saves_.has_room()) return true;
  const bool serves_all = pulls_.Serve();
  controls_.Serve();
  return serves_all;
}

bool Shard::IsStepDue() const {
  return !state_.has_failed() && !update_.is_under_way() && !controls_.is_saving() &&
         pushes_.IsNextComplete();
}

bool Shard::CanApplyStep() const {
  return IsStepDue() && (!saves_.is_under_way() || saves_.HasRoomFor(pushes_.RecordBytesOfNext()));
}

bool Shard::WaitsForSave() const {
  if (!saves_.is_under_way() || state_.has_failed() || update_.is_under_way()) return false;
  return (IsStepDue() && !CanApplyStep()) || (!saves_.has_room() && !pulls_.parked().empty());
}

void Shard::NoteWaitForSave() {
  if (!WaitsForSave()) {
    if (waits_for_save_since_) {
      state_.counters.save_wait_ms += static_cast<uint64_t>(state_.now - *waits_for_save_since_);
    }
    return waits_for_save_since_.reset();
  }
  // Workers that wait for others ask whether a shard is blocked.
  state_.blockage.last_at = state_.now;
  state_.blockage.why = saves_.WhyNoRoom();
  if (!waits_for_save_since_) {
    waits_for_save_since_ = state_.now;
  } else if (state_.now - told_of_wait_ < kTellAgainMs) {
    return;
  }
  told_of_wait_ = state_.now;
  TellWaiting(state_.blockage.why);
}

void Shard::ApplyStep() {
  if (state_.has_failed() || !(update_.has_rows_left() || CanApplyStep())) return;
  preload_.Stop();
  state_.End(ShardPhase::kOther);
  const uint64_t rows_before = state_.counters.rows_updated;
  if (update_.has_rows_left()) {
    update_.GoOn();
  } else {
    update_.Apply(pushes_.OfNext());
  }
  state_.End(ShardPhase::kUpdate, state_.counters.rows_updated - rows_before);
}

void Shard::OnStepApplied() {
  pushes_.Forget(state_.next_step);
  ++state_.next_step;
  if (state_.phases != nullptr) state_.phases->shard.set_step(state_.next_step);
  prefetches_.OnStepApplied();
  sweeper_.OnStepApplied();
  if (!pulls_.is_reading()) cache_moves_.OnStepApplied();
}

// ---- Store and log ------------------------------------------------------------------------------

void Shard::OnSynced(const StoreSynced& event) {
  if (!event.status.ok()) state_.Fail(event.status);
  sweeper_.OnSynced(event.ticket);
  if (!state_.has_failed()) controls_.OnSynced(event);
}

// Everybody who waits is told, and waits from now on as long as it was ready to (TellWaiting).
void Shard::OnBlocked(const StoreBlocked& event) {
  const bool is_news = state_.blockage.blocked.insert(event.what).second;
  LOG_IF(WARNING, is_news) << state_.options.name << " waits: " << event.status.message();
  state_.blockage.last_at = state_.now;
  state_.blockage.why = event.status.message();
  TellWaiting(event.status.message());
}

void Shard::TellWaiting(const std::string& why) {
  const BusyReply busy{.message = fmt::format("{} waits: {}", state_.options.name, why)};
  const auto tell = [&](Request& request) {
    request.deadline = state_.DeadlineOf(request.header);
    state_.out.Answer(request, busy);
  };
  pulls_.ForEachWaiting(tell);
  controls_.ForEachWaiting(tell);
  pushes_.ForEachWaiting(tell);
  controls_.VisitSaving(tell);
}

void Shard::OnUnblocked(const StoreUnblocked& event) {
  state_.blockage.blocked.erase(event.what);
  state_.blockage.last_at = state_.now;
  LOG_IF(WARNING, !state_.blockage.is_blocked())
      << state_.options.name << " goes on: what it writes finds room again";
}

std::string Shard::DescribeNextStep() const {
  if (update_.is_reading()) return "its rows are being read from the store";
  if (WaitsForSave()) return saves_.WhyNoRoom();
  return pushes_.DescribeMissing();
}

std::string Shard::DescribeStanding() const {
  if (state_.has_failed()) {
    return fmt::format("{} has failed: {}", state_.options.name, state_.failure.message());
  }
  return fmt::format("{} waits for step {} to be complete; {}{}{}", state_.options.name,
                     state_.next_step, DescribeNextStep(),
                     saves_.is_under_way() ? "; a save is made beside the steps" : "",
                     state_.blockage.is_blocked() ? "; " + state_.blockage.why : "");
}

Waits Shard::WaitsNow() const {
  Waits waits{.who = state_.options.name, .waits = {}, .note = ""};
  if (state_.has_failed()) {
    waits.note = "has failed: " + state_.failure.message();
  } else if (state_.blockage.is_blocked()) {
    waits.note = state_.blockage.why;
  } else if (pulls_.is_reading() || update_.is_reading()) {
    waits.note = "its rows are being read from the store";
  } else if (const std::vector<uint32_t> missing = pushes_.Missing(); missing.empty()) {
    waits.note = DescribeNextStep();
  } else {
    for (const uint32_t worker : missing) {
      waits.waits.push_back({.peer = fmt::format("worker {}", worker),
                             .what = fmt::format("push of step {}", state_.next_step)});
    }
  }
  return waits;
}

void Shard::RefuseAll() {
  const auto refuse = [&](const Request& request) { state_.out.Refuse(request, state_.failure); };
  pulls_.ForEachWaiting(refuse);
  controls_.ForEachWaiting(refuse);
  pushes_.ForEachWaiting(refuse);
  controls_.VisitSaving(refuse);
  pulls_.Clear();
  controls_.Clear();
  pushes_.ClearWaiting();
}

// ---- Deadlines ----------------------------------------------------------------------------------

namespace {

const Request& RequestOf(const ControlTask& task) { return task.request; }
const Request& RequestOf(const PullTask& pull) { return pull.request; }

}  // namespace

void Shard::OnTick() {
  wake_at_ = 0;
  refusals_.SendDue();
  // Before their deadlines are looked at.
  if (WaitsForSave()) {
    told_of_wait_ = state_.now;
    TellWaiting(saves_.WhyNoRoom());
  }
  const auto expire = [&](auto& parked) {
    std::erase_if(parked, [&](const auto& one) {
      const Request& request = RequestOf(one);
      if (state_.now < request.deadline) return false;
      state_.out.Refuse(
          request, MakeStatus(StatusCode::kDeadlineExceeded,
                              "{}: waited {} ms for step {} to be applied; {}", state_.options.name,
                              request.header.deadline_ms, state_.next_step, DescribeNextStep()));
      return true;
    });
  };
  expire(pulls_.parked());
  expire(controls_.parked());
}

void Shard::AskWakeUp() {
  TimeMs earliest = refusals_.next_at();
  for (const PullTask& pull : pulls_.parked()) {
    earliest = std::min(earliest, pull.request.deadline);
  }
  for (const ControlTask& task : controls_.parked()) {
    earliest = std::min(earliest, task.request.deadline);
  }
  constexpr TimeMs kTryAgainMs = 1;
  if (pulls_.waits_for_room()) earliest = std::min(earliest, state_.now + kTryAgainMs);
  if (waits_for_save_since_) earliest = std::min(earliest, told_of_wait_ + kTellAgainMs);
  if (earliest == std::numeric_limits<TimeMs>::max() || earliest == wake_at_) return;
  wake_at_ = earliest;
  state_.out.Add(WakeAt{earliest});
}

}  // namespace rowhouse
