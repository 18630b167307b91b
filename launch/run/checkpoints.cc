#include "launch/run/checkpoints.h"

#include <fmt/core.h>
#include <glog/logging.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <span>
#include <thread>

#include "common/clean_text.h"
#include "common/durable_file.h"
#include "common/kill_point.h"
#include "launch/model/last_save.h"
#include "launch/model/model_lock.h"
#include "ps/store/checkpoint_part.h"
#include "worker/mpi/agreement.h"

namespace rowhouse {
namespace {

// What somebody reads stays, and the next checkpoint tries again. Returns what is left.
Result<std::vector<uint64_t>> DeleteExcept(const std::vector<uint64_t>& wanted,
                                           const std::string& model_dir) {
  Result<std::vector<uint64_t>> left = DeleteCheckpointsExcept(wanted, model_dir);
  if (!left.ok()) return AsFaultOfTheWorld(left.status());
  return left;
}

Status Write(const Checkpoints::WriteModel& write_model, const std::vector<SavedShard>& shards,
             const std::string& directory) {
  std::error_code error;  // A link there would lead elsewhere.
  std::filesystem::remove_all(directory + ".tmp", error);
  if (error) return StatusFromErrno(error.value(), "delete", directory + ".tmp");
  RETURN_IF_ERROR(write_model(directory + ".tmp", shards));
  KillPoint("save.before_rename");
  RETURN_IF_ERROR(RenameDurably(directory + ".tmp", directory));
  KillPoint("save.whole");
  return OkStatus();
}

}  // namespace

Checkpoints::Checkpoints(const WorkerSetup& setup, const JobSpec& job, const Links& links,
                         TakeModel take_model)
    : setup_(setup),
      job_(job),
      links_(links),
      take_model_(std::move(take_model)),
      model_dir_(setup.settings.output.model_dir) {}

Status Checkpoints::ByOne(const std::function<Status()>& work, bool* is_agreed) {
  const Status done = setup_.options.prints ? work() : OkStatus();
  return AgreeOnOne(setup_.saving, done, "saving the model in mid-run", is_agreed);
}

Status Checkpoints::Start(bool* is_agreed) {
  begun_at_ = setup_.clock.NowMs();
  const bool replaces = job_.overwrite && !model_dir_.empty();
  if (!is_on() && !replaces) {
    *is_agreed = true;
    return OkStatus();
  }
  return ByOne(
      [&]() -> Status {
        const uint64_t steps = job_.first_step();
        const bool goes_on_from_one = job_.is_load && !job_.load.checkpoint.empty();
        // Others of this step or later are not whole, and this run will make some of these numbers.
        std::vector<uint64_t> kept = CheckpointsOf(model_dir_);
        std::erase_if(kept, [&](uint64_t one) {
          return !job_.is_load || one > steps || (one == steps && !goes_on_from_one);
        });
        // All of them go, or none.
        for (const uint64_t one : CheckpointsOf(model_dir_)) {
          const std::string directory = CheckpointDirectory(model_dir_, one);
          if (std::ranges::count(kept, one) > 0 || LockToDelete(directory).ok()) continue;
          return UsageError(
              "checkpoint {} of the model that this run replaces is being read (by predict, eval, "
              "ckpt); wait until that has ended",
              directory);
        }
        ASSIGN_OR_RETURN(kept, DeleteExcept(kept, model_dir_));
        RETURN_IF_ERROR(DeletePartsExcept(kept, steps, /*whole=*/false));
        if (goes_on_from_one) figures_.durable_step = steps;
        if (!is_on() || goes_on_from_one) return OkStatus();
        RETURN_IF_ERROR(Begin(steps));
        return WaitUntilOver();
      },
      is_agreed);
}

bool Checkpoints::IsDue(uint64_t steps) const {
  const SaveEvery& every = setup_.settings.output.save_every;
  if (!every.is_on()) return false;
  if (every.steps > 0) return steps % every.steps == 0;
  if (every.seconds > 0) {
    return setup_.clock.NowMs() - begun_at_ >= static_cast<TimeMs>(every.seconds * 1000);
  }
  return ChangedBytes() >= every.megabytes << 20;
}

uint64_t Checkpoints::ChangedBytes() const {
  uint64_t bytes = 0;
  for (const CheckpointReply& reply : links_.client.replies().checkpoints) {
    bytes += reply.changed_bytes;
  }
  return bytes;
}

Status Checkpoints::AfterPull(uint64_t step) {
  if (!is_on() || !setup_.options.prints) return OkStatus();
  // A question costs a round trip to each shard: few are asked of a save that takes long.
  constexpr TimeMs kAskAgainMs = 200;
  const TimeMs now = setup_.clock.NowMs();
  const TimeMs wait = pending_ ? std::max(kAskAgainMs, (now - begun_at_) / 4) : kAskAgainMs;
  if (now - asked_at_ < wait) return OkStatus();
  bool is_over = false;
  if (pending_) return GoOn(&is_over);
  if (setup_.settings.output.save_every.megabytes == 0) return OkStatus();
  return AskShards(step, {.phase = CheckpointPhase::kAsk, .name = {}});
}

Status Checkpoints::AfterStep(uint64_t steps, bool* is_agreed) {
  *is_agreed = true;
  const bool is_best = best_ == steps;
  if (!is_on() || !setup_.options.prints || !(is_best || IsDue(steps))) return OkStatus();
  *is_agreed = false;
  // No later model is this one: it is not left out.
  if (is_best && pending_) RETURN_IF_ERROR(WaitUntilOver());
  const bool counts_steps = setup_.settings.output.save_every.steps > 0;
  bool is_over = false;
  if (pending_ && counts_steps) RETURN_IF_ERROR(GoOn(&is_over));
  if (!pending_) {
    RETURN_IF_ERROR(Begin(steps));
  } else if (counts_steps) {
    ++figures_.left_out;
  }
  *is_agreed = true;
  return OkStatus();
}

Status Checkpoints::End() { return pending_ ? WaitUntilOver() : OkStatus(); }

Status Checkpoints::AtTheEnd(uint64_t steps, bool* is_agreed) {
  *is_agreed = true;
  if (!is_on()) return OkStatus();
  return ByOne(
      [&]() -> Status {
        if (std::ranges::count(CheckpointsOf(model_dir_), steps) > 0) return OkStatus();
        RETURN_IF_ERROR(Begin(steps));
        return WaitUntilOver();
      },
      is_agreed);
}

Status Checkpoints::Begin(uint64_t steps) {
  const TimeNs began = setup_.clock.NowNs();
  begun_at_ = setup_.clock.NowMs();
  // What lies on the workers is as it is after this step on each of them.
  ASSIGN_OR_RETURN(WriteModel write_model, take_model_(steps));
  RETURN_IF_ERROR(
      AskShards(steps, {.phase = CheckpointPhase::kMark, .name = CheckpointName(steps)}));
  KillPoint("save.marked");
  pending_ = {.steps = steps,
              .write_model = std::move(write_model),
              .written = {},
              .began = began,
              .seconds = SecondsSince(began, setup_.clock)};
  return OkStatus();
}

Status Checkpoints::GoOn(bool* is_over) {
  const TimeNs began = setup_.clock.NowNs();
  RETURN_IF_ERROR(Advance(is_over));
  pending_->seconds += SecondsSince(began, setup_.clock);
  if (!*is_over) return OkStatus();
  const Pending ended = std::move(*pending_);
  pending_.reset();
  figures_.seconds += ended.seconds;
  figures_.longest_seconds = std::max(figures_.longest_seconds, ended.seconds);
  if (figures_.durable_step != ended.steps) return OkStatus();
  links_.progress.ClearLine();
  PrintClean("saved step {} in {} within {:.3f} s; steps stood still for {:.3f} s\n", ended.steps,
             CheckpointDirectory(model_dir_, ended.steps), SecondsSince(ended.began, setup_.clock),
             ended.seconds);
  std::fflush(stdout);
  return OkStatus();
}

// First the shards make their parts, then a thread of its own writes the model's files.
Status Checkpoints::Advance(bool* is_over) {
  if (!pending_->written.valid()) {
    RETURN_IF_ERROR(AskShards(pending_->steps, {.phase = CheckpointPhase::kAsk, .name = {}}));
    if (IsUnderWay()) return OkStatus();
    if (const std::string no_room = NoRoom(); !no_room.empty()) {
      *is_over = true;
      return Complete(MakeStatus(StatusCode::kResourceExhausted, "{}", no_room));
    }
    KillPoint("save.parts_made");
    StartWriting();
  }
  if (pending_->written.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    return OkStatus();
  }
  *is_over = true;
  return Complete(pending_->written.get());
}

Status Checkpoints::WaitUntilOver() {
  return WaitUntil(pending_->steps, [this](bool* is_over) { return GoOn(is_over); });
}

Status Checkpoints::WaitUntil(uint64_t steps, const std::function<Status(bool*)>& go_on) const {
  const TimeMs until = setup_.clock.NowMs() + setup_.settings.cluster.save_deadline_ms;
  for (bool is_over = false;;) {
    RETURN_IF_ERROR(go_on(&is_over));
    if (is_over) return OkStatus();
    if (setup_.clock.NowMs() >= until) {
      return MakeStatus(StatusCode::kDeadlineExceeded,
                        "the checkpoint of step {} was not made, or its parts were not deleted, "
                        "within --save_deadline_ms={}",
                        steps, setup_.settings.cluster.save_deadline_ms);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

bool Checkpoints::IsUnderWay() const {
  return std::ranges::any_of(links_.client.replies().checkpoints, &CheckpointReply::is_under_way);
}

std::string Checkpoints::NoRoom() const {
  for (const CheckpointReply& reply : links_.client.replies().checkpoints) {
    if (!reply.no_room.empty()) return reply.no_room;
  }
  return "";
}

// kResourceExhausted: shard or model found no room.
Status Checkpoints::Complete(const Result<std::vector<uint64_t>>& left) {
  const uint64_t steps = pending_->steps;
  if (left.ok()) {
    RETURN_IF_ERROR(DeletePartsExcept(left.value(), steps, /*whole=*/true));
    ++figures_.made;
    figures_.durable_step = steps;
    return OkStatus();
  }
  if (left.status().code() != StatusCode::kResourceExhausted) return left.status();
  // What there is of it goes.
  ASSIGN_OR_RETURN(const std::vector<uint64_t> others,
                   DeleteExcept(CheckpointsOf(model_dir_), model_dir_));
  RETURN_IF_ERROR(DeletePartsExcept(others, steps, /*whole=*/false));
  if (figures_.without_room++ == 0) {
    links_.progress.ClearLine();
    PrintClean(
        "no checkpoint of step {}: there is no room to write it ({}); the run goes on, and tries "
        "again when the next one is due\n",
        steps, left.status().message());
    std::fflush(stdout);
  }
  return OkStatus();
}

Status Checkpoints::AskShards(uint64_t steps, CheckpointRequest request) {
  links_.client.StartCheckpoint(steps, std::move(request));
  RETURN_IF_ERROR(RunClient(links_.client, links_.dialer, setup_.clock));
  asked_at_ = setup_.clock.NowMs();
  parts_.clear();
  for (const CheckpointReply& reply : links_.client.replies().checkpoints) {
    parts_.insert(reply.parts.begin(), reply.parts.end());
  }
  return OkStatus();
}

void Checkpoints::StartWriting() {
  std::vector<SavedShard> shards;
  figures_.last_bytes = 0;
  for (uint32_t s = 0; s < links_.client.shards().size(); ++s) {
    const CheckpointReply& part = links_.client.replies().checkpoints[s];
    shards.push_back({.shard = ShardId{s},
                      .host = links_.client.shards()[s].host,
                      .directory = part.directory,
                      .checksum = part.checksum});
    figures_.last_bytes += part.bytes;
  }
  pending_->written = std::async(
      std::launch::async,
      [steps = pending_->steps, shards = std::move(shards), model_dir = model_dir_,
       write_model = std::move(pending_->write_model), keep = setup_.settings.output.keep,
       best = best_]() -> Result<std::vector<uint64_t>> {
        RETURN_IF_ERROR(
            AsFaultOfTheWorld(Write(write_model, shards, CheckpointDirectory(model_dir, steps))));
        // Old ones go only once the new one is whole.
        std::vector<uint64_t> kept = CheckpointsOf(model_dir);
        const std::span newest = std::span(kept).last(std::min<size_t>(kept.size(), keep));
        const uint64_t oldest = newest.empty() ? steps : newest.front();
        std::erase_if(kept, [&](uint64_t one) { return one < oldest && one != best; });
        Result<std::vector<uint64_t>> left = DeleteExcept(kept, model_dir);
        // The new one is whole all the same.
        if (left.status().code() == StatusCode::kResourceExhausted) return CheckpointsOf(model_dir);
        return left;
      });
}

Status Checkpoints::DeletePartsExcept(const std::vector<uint64_t>& left, uint64_t steps,
                                      bool whole) {
  KillPoint("save.before_deletion_of_parts");
  CheckpointRequest request{
      .phase = CheckpointPhase::kDelete, .name = whole ? CheckpointName(steps) : "", .deleted = {}};
  // Before the first checkpoint it is not known which parts there are; cut-off runs left some.
  if (parts_.empty()) {
    RETURN_IF_ERROR(AskShards(steps, request));
    RETURN_IF_ERROR(WaitUntil(steps, [&](bool* is_over) -> Status {
      RETURN_IF_ERROR(AskShards(steps, {.phase = CheckpointPhase::kAsk, .name = {}}));
      *is_over = !IsUnderWay();
      return OkStatus();
    }));
  }
  for (const uint64_t one : left) parts_.erase(CheckpointName(one));
  request.deleted.assign(parts_.begin(), parts_.end());
  return AskShards(steps, std::move(request));
}

std::string Checkpoints::SummaryText() const {
  if (!is_on()) return "";
  std::string text = fmt::format("checkpoints: {} made, steps stood still for {:.3f} s in all",
                                 figures_.made, figures_.seconds);
  if (figures_.made > 0) text += fmt::format(", {:.3f} s at most", figures_.longest_seconds);
  if (figures_.left_out > 0) {
    text += fmt::format("; {} left out, as one was being made", figures_.left_out);
  }
  if (figures_.without_room > 0) {
    text += fmt::format("; {} found no room on the disk", figures_.without_room);
  }
  if (figures_.made > 0) text += fmt::format("; {}", DurableText());
  return text + "\n";
}

std::string Checkpoints::DurableText() const {
  if (!is_on() || (figures_.made == 0 && figures_.durable_step == 0)) return "";
  return fmt::format("durable up to step {}", figures_.durable_step);
}

Status UntilThereIsRoom(const RoomOptions& options, const Clock& clock,
                        const std::function<Status()>& write) {
  const TimeMs begun = clock.NowMs();
  constexpr TimeMs kTellAgainMs = 30000;
  TimeMs told_at = 0;
  for (bool has_waited = false;; has_waited = true) {
    Status status = write();
    const TimeMs waited = clock.NowMs() - begun;
    if (status.code() != StatusCode::kResourceExhausted) {
      LOG_IF(WARNING, has_waited && status.ok())
          << options.what << ": there is room again after " << waited << " ms; the run goes on";
      return status;
    }
    if (waited >= options.deadline_ms) {
      return status.Annotate(fmt::format("{}: the disk was full for {} ms", options.what, waited));
    }
    if (!has_waited || waited - told_at >= kTellAgainMs) {
      told_at = waited;
      LOG(WARNING) << options.what << ": the disk is full (" << status.message()
                   << "); the run waits until there is room, "
                   << (waited < 1000 ? "" : fmt::format("{} s so far and ", waited / 1000))
                   << options.deadline_ms / 1000 << " s at most";
    }
    options.pause ? options.pause() : std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
}

}  // namespace rowhouse
