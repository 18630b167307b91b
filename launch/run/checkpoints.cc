#include "launch/run/checkpoints.h"

#include <fmt/core.h>
#include <glog/logging.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "common/clean_text.h"
#include "common/durable_file.h"
#include "launch/figures/figure_text.h"
#include "launch/model/last_save.h"
#include "launch/model/model_lock.h"
#include "ps/store/checkpoint_part.h"
#include "worker/mpi/agreement.h"

namespace rowhouse {

Checkpoints::Checkpoints(const WorkerSetup& setup, const JobSpec& job, const Links& links,
                         WriteModel write_model)
    : setup_(setup),
      job_(job),
      links_(links),
      write_model_(std::move(write_model)),
      model_dir_(setup.settings.output.model_dir) {}

Status Checkpoints::ByOne(const std::function<Status()>& work, bool* is_agreed) {
  const Status done = setup_.options.prints ? work() : OkStatus();
  return AgreeOnOne(setup_.saving, done, "saving the model in mid-run", is_agreed);
}

Status Checkpoints::Start(bool* is_agreed) {
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
        RETURN_IF_ERROR(DeleteOthersThan(kept, steps, /*whole=*/false));
        return is_on() && !goes_on_from_one ? Make(steps) : OkStatus();
      },
      is_agreed);
}

Status Checkpoints::AfterStep(uint64_t steps, bool* is_agreed) {
  *is_agreed = true;
  if (!is_on() || steps % setup_.settings.output.save_every != 0) return OkStatus();
  return ByOne([&] { return Make(steps); }, is_agreed);
}

Status Checkpoints::AtTheEnd(uint64_t steps, bool* is_agreed) {
  *is_agreed = true;
  if (!is_on()) return OkStatus();
  return ByOne(
      [&] {
        const bool is_there = std::ranges::count(CheckpointsOf(model_dir_), steps) > 0;
        return is_there ? OkStatus() : Make(steps);
      },
      is_agreed);
}

Status Checkpoints::Make(uint64_t steps) {
  const TimeNs began = setup_.clock.NowNs();
  std::string no_room;
  RETURN_IF_ERROR(TryToMake(steps, &no_room));
  // Old ones go only once the new one is whole; what there is of a new one that is not goes, too.
  std::vector<uint64_t> kept = CheckpointsOf(model_dir_);
  const size_t keep = no_room.empty() ? setup_.settings.output.keep : kept.size();
  if (kept.size() > keep) kept.erase(kept.begin(), kept.end() - static_cast<std::ptrdiff_t>(keep));
  RETURN_IF_ERROR(DeleteOthersThan(kept, steps, /*whole=*/no_room.empty()));
  const double seconds = SecondsSince(began, setup_.clock);
  figures_.seconds += seconds;
  figures_.longest_seconds = std::max(figures_.longest_seconds, seconds);
  links_.progress.ClearLine();
  if (no_room.empty()) {
    ++figures_.made;
    PrintClean("saved step {} in {}; steps stood still for {:.3f} s\n", steps,
               CheckpointDirectory(model_dir_, steps), seconds);
  } else if (figures_.without_room++ == 0) {
    PrintClean(
        "no checkpoint of step {}: the disk is full ({}); the run goes on, and tries again every "
        "{} steps\n",
        steps, no_room, setup_.settings.output.save_every);
  }
  std::fflush(stdout);
  return OkStatus();
}

Status Checkpoints::TryToMake(uint64_t steps, std::string* no_room) {
  // Taken on all shards before one of them writes: several may share a disk.
  RETURN_IF_ERROR(AskShards(steps, {.phase = CheckpointPhase::kReserve}, no_room));
  if (!no_room->empty()) return OkStatus();
  RETURN_IF_ERROR(
      AskShards(steps, {.phase = CheckpointPhase::kMake, .name = CheckpointName(steps)}, no_room));
  if (!no_room->empty()) return OkStatus();
  const Status written = AsFaultOfTheWorld(WriteDirectory(steps));
  if (written.code() != StatusCode::kResourceExhausted) return written;
  *no_room = written.message();
  return OkStatus();
}

Status Checkpoints::AskShards(uint64_t steps, CheckpointRequest request, std::string* no_room) {
  links_.client.StartCheckpoint(steps, std::move(request));
  RETURN_IF_ERROR(RunClient(links_.client, links_.dialer, setup_.clock));
  parts_.clear();
  for (const CheckpointReply& reply : links_.client.replies().checkpoints) {
    if (no_room->empty()) *no_room = reply.no_room;
    parts_.insert(reply.parts.begin(), reply.parts.end());
  }
  return OkStatus();
}

Status Checkpoints::WriteDirectory(uint64_t steps) {
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
  const std::string directory = CheckpointDirectory(model_dir_, steps);
  std::error_code error;  // A link there would lead elsewhere.
  std::filesystem::remove_all(directory + ".tmp", error);
  if (error) return StatusFromErrno(error.value(), "delete", directory + ".tmp");
  RETURN_IF_ERROR(write_model_(directory + ".tmp", steps, std::move(shards)));
  return RenameDurably(directory + ".tmp", directory);
}

Status Checkpoints::DeleteOthersThan(const std::vector<uint64_t>& wanted, uint64_t steps,
                                     bool whole) {
  // What somebody reads stays; the next checkpoint tries again.
  const Result<std::vector<uint64_t>> kept = DeleteCheckpointsExcept(wanted, model_dir_);
  if (!kept.ok()) return AsFaultOfTheWorld(kept.status());
  std::string ignored;  // Deleting needs no room.
  CheckpointRequest request{
      .phase = CheckpointPhase::kDelete, .name = whole ? CheckpointName(steps) : "", .deleted = {}};
  // Before the first checkpoint it is not known which parts there are; cut-off runs left some.
  if (parts_.empty()) RETURN_IF_ERROR(AskShards(steps, request, &ignored));
  for (const uint64_t one : kept.value()) parts_.erase(CheckpointName(one));
  request.deleted.assign(parts_.begin(), parts_.end());
  return AskShards(steps, std::move(request), &ignored);
}

std::string Checkpoints::SummaryText() const {
  if (!is_on()) return "";
  std::string text = fmt::format("checkpoints: {} made, steps stood still for {:.3f} s in all",
                                 figures_.made, figures_.seconds);
  if (figures_.made > 0) text += fmt::format(", {:.3f} s at most", figures_.longest_seconds);
  if (figures_.without_room > 0) {
    text += fmt::format("; {} found no room on the disk", figures_.without_room);
  }
  return text + "\n";
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
