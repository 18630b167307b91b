#include "launch/profile/run_profiler.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/host_limits.h"
#include "common/json_text.h"
#include "common/serialized.h"
#include "common/wire/codec.h"
#include "common/wire/profile.h"
#include "launch/figures/json_output.h"
#include "launch/model/model_lock.h"
#include "launch/profile/run_profile.h"
#include "worker/train/step_clock.h"
#include "worker/train/trainer.h"

namespace rowhouse {
namespace {

template <typename T>
uint64_t BytesOf(const std::vector<T>& vector) {
  return vector.capacity() * sizeof(T);
}

uint64_t BytesOfRows(TrainingStep& step) {
  uint64_t bytes = 0;
  for (const RowBatch& batch : step.row_batches()) {
    bytes += BytesOf(batch.rows) + BytesOf(batch.counts) + BytesOf(batch.values) +
             BytesOf(batch.gradients);
  }
  for (const BagBatch& batch : step.bag_batches()) {
    bytes += BytesOf(batch.rows) + BytesOf(batch.offsets) + BytesOf(batch.weights) +
             BytesOf(batch.pooled) + BytesOf(batch.gradients);
  }
  return bytes;
}

// Batches of rows and bags, the dense part with its optimizer, activations, rows that live on the
// worker, samples, messages under way (at most). What the data source keeps is not among them.
std::vector<MemoryPart> MemoryOfWorker(TrainingStep& step, const Trainer& trainer) {
  uint64_t dense = step.dense().size() + step.optimizer().state().size();
  if (step.dense().gradients().data() != step.allreduce().data()) dense += step.dense().size();
  std::vector<MemoryPart> parts = {
      {.name = "batches of rows", .bytes = BytesOfRows(step)},
      {.name = "lookups", .bytes = step.embedding().lookup_bytes()},
      {.name = "dense part", .bytes = (dense + step.allreduce().size()) * sizeof(float)},
      {.name = "activations", .bytes = step.activation_bytes()},
      {.name = "samples", .bytes = trainer.sample_bytes()},
      {.name = "messages", .bytes = trainer.step_clock().most_message_bytes()}};
  if (const WorkerRows* rows = step.rows(); rows != nullptr && rows->saved_floats() > 0) {
    parts.push_back({.name = "rows on the worker", .bytes = rows->saved_floats() * sizeof(float)});
  }
  return parts;
}

constexpr int kClockRounds = 8;

// As a message, for AllGather.
struct PackedRank {
  static constexpr MessageType kType = MessageType::kProfileReply;
  RankProfile rank;
  SERIALIZED(rank);
};

Result<RankProfile> Unpacked(std::span<const std::byte> bytes) {
  PackedRank packed;
  BodyReader reader(bytes);
  try {
    reader(packed);
  } catch (const std::exception& error) {
    return CorruptionError("a worker's profile: {}", error.what());
  }
  return std::move(packed.rank);
}

const PhaseTotal& TotalOf(const PhaseRecord& record, StepPhase phase) {
  return record.totals[Number(phase)];
}

// Nobody leaves a gathering before everybody has come to it.
Result<std::vector<ClockBounds>> CompareClocks(Communicator& workers, const Clock& clock) {
  struct Times {
    TimeNs left_last = 0, came = 0;
  };
  std::vector<ClockBounds> bounds(workers.size());
  Times mine;
  TimeNs came_last = 0;
  for (int round = 0; round <= kClockRounds; ++round) {
    mine.came = clock.NowNs();
    ASSIGN_OR_RETURN(const auto all,
                     workers.AllGather(std::as_bytes(std::span(&mine, 1)), "comparing clocks"));
    const TimeNs left = clock.NowNs();
    for (uint32_t w = 0; w < workers.size(); ++w) {
      Times its;
      CHECK_EQ(all[w].size(), sizeof(its));
      std::memcpy(&its, all[w].data(), sizeof(its));
      bounds[w].ItsBeforeOurs(its.came, left);
      if (round > 0) bounds[w].ItsAfterOurs(its.left_last, came_last);
    }
    mine.left_last = left;
    came_last = mine.came;
  }
  return bounds;
}

Status MakeDirectoryOf(const std::string& file) {
  const std::filesystem::path directory = std::filesystem::path(file).parent_path();
  if (file.empty() || directory.empty()) return OkStatus();
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (!error && access(directory.c_str(), W_OK) == 0) return OkStatus();
  return UsageError("--profile: files cannot be made in {}: {}", directory.string(),
                    error ? error.message() : "it cannot be written to");
}

}  // namespace

ProfileFiles ProfileFilesOf(const std::string& value, const std::string& model_dir) {
  if (value.empty() || (value == "-" && model_dir.empty())) return {};
  if (value.ends_with(".json")) return {.figures = "", .trace = value};
  const std::string directory = value == "-" ? model_dir + "/profile" : value;
  return {.figures = directory + "/profile.json", .trace = directory + "/trace.json"};
}

Status WriteProfile(const RunProfile& profile, const ProfileFiles& files) {
  if (!files.figures.empty()) {
    RETURN_IF_ERROR(WriteReportFile(files.figures, DumpJson(ProfileToJson(profile), 1) + "\n"));
  }
  if (files.trace.empty()) return OkStatus();
  return WriteReportFile(files.trace, TraceText(profile));
}

Result<std::vector<ProfileReply>> AskForProfiles(PsClient& client, Dialer& dialer,
                                                 const Clock& clock, ProfileWish wish) {
  client.StartProfile(wish);
  RETURN_IF_ERROR(RunClient(client, dialer, clock));
  return client.replies().profiles;
}

RunProfiler::RunProfiler(const std::string& profile, const std::string& model_dir, std::string host,
                         bool prints, uint32_t shards_per_node, const Links& links)
    : is_on_(!profile.empty()),
      is_beside_model_(profile == "-"),
      files_(ProfileFilesOf(profile, model_dir)),
      host_(std::move(host)),
      prints_(prints),
      shards_per_node_(shards_per_node),
      links_(links) {}

Status RunProfiler::Begin(Trainer* trainer) {
  if (!is_on_) return OkStatus();
  trainer->KeepSpans();
  if (!prints_) return OkStatus();
  if (const Status outside = CheckOutsideModels(files_.trace); !is_beside_model_ && !outside.ok()) {
    return UsageError("--profile: {}", outside.message());
  }
  RETURN_IF_ERROR(MakeDirectoryOf(files_.figures));
  RETURN_IF_ERROR(MakeDirectoryOf(files_.trace));
  return AskForProfiles(links_.client, links_.dialer, links_.clock, ProfileWish::kBegin).status();
}

Result<std::vector<RankProfile>> RunProfiler::GatherWorkers(TrainingStep& step,
                                                            const Trainer& trainer) {
  Communicator& workers = links_.workers;
  const PhaseRecord record = trainer.step_clock().phases().Record();
  PackedRank mine;
  mine.rank = {.name = fmt::format("worker {}", Raw(workers.rank())),
               .host = host_,
               .is_worker = true,
               .pid = static_cast<uint32_t>(getpid()),
               .rows = static_cast<double>(TotalOf(record, StepPhase::kPull).amounts[0]),
               .samples = static_cast<double>(TotalOf(record, StepPhase::kData).amounts[0]),
               .threads = {{.thread = "worker", .record = record}},
               .memory = MemoryOfWorker(step, trainer),
               .process_peak_bytes = PeakBytesOfProcess(),
               .messages = trainer.step_clock().kept_times().messages.Answered(),
               .allreduces = trainer.step_clock().kept_times().allreduces};
  const Frame packed = EncodeBody(mine);
  ASSIGN_OR_RETURN(const auto all, workers.AllGather(packed.bytes(), "gathering the profile"));
  ASSIGN_OR_RETURN(const std::vector<ClockBounds> bounds, CompareClocks(workers, links_.clock));
  std::vector<RankProfile> ranks;
  for (uint32_t w = 0; w < workers.size(); ++w) {
    ASSIGN_OR_RETURN(RankProfile rank, Unpacked(all[w]));
    if (rank.host != host_) {
      rank.clock_offset = bounds[w].offset();
      rank.clock_error = bounds[w].error();
    }
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

Result<std::vector<RankProfile>> RunProfiler::TakeShards() {
  PsClient& client = links_.client;
  const std::vector<ShardAddress>& shards = client.shards();
  ASSIGN_OR_RETURN(std::vector<ProfileReply> taken,
                   AskForProfiles(client, links_.dialer, links_.clock, ProfileWish::kTake));
  std::vector<ClockBounds> bounds(shards.size());
  for (int round = 0; round < kClockRounds; ++round) {
    const TimeNs asked = links_.clock.NowNs();
    ASSIGN_OR_RETURN(const std::vector<ProfileReply> clocks,
                     AskForProfiles(client, links_.dialer, links_.clock, ProfileWish::kClock));
    const TimeNs answered = links_.clock.NowNs();
    for (size_t s = 0; s < shards.size(); ++s) {
      bounds[s].ItsAfterOurs(clocks[s].now_ns, asked);
      bounds[s].ItsBeforeOurs(clocks[s].now_ns, answered);
    }
  }
  std::vector<RankProfile> ranks;
  for (size_t s = 0; s < shards.size(); ++s) {
    RankProfile rank = RankOfShard(fmt::format("PS node {}, shard {}", s / shards_per_node_, s),
                                   shards[s].host, std::move(taken[s]));
    if (rank.host != host_) {
      rank.clock_offset = bounds[s].offset();
      rank.clock_error = bounds[s].error();
    }
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

Status RunProfiler::Take(TrainingStep& step, const Trainer& trainer) {
  if (!is_on_) return OkStatus();
  ASSIGN_OR_RETURN(std::vector<RankProfile> ranks, GatherWorkers(step, trainer));
  if (!prints_) return OkStatus();
  const uint64_t steps = TotalOf(ranks[0].threads[0].record, StepPhase::kAllreduce).times;
  DivideAllreduce(&ranks);
  ASSIGN_OR_RETURN(std::vector<RankProfile> shards, TakeShards());
  for (RankProfile& shard : shards) {
    shard.samples = static_cast<double>(trainer.samples_done());
    ranks.push_back(std::move(shard));
  }
  profile_ = {.steps = steps, .samples = trainer.samples_done(), .ranks = std::move(ranks)};
  return OkStatus();
}

std::string RunProfiler::Text() const {
  if (!is_on_) return "";
  std::string text = ProfileText(profile_);
  if (!files_.trace.empty()) {
    text += fmt::format("trace of all ranks, for ui.perfetto.dev: {}\n", files_.trace);
  }
  return text;
}

namespace {

// When the last worker came to the allreduce of each step that all have kept, by the first one's
// clock.
std::unordered_map<uint64_t, TimeNs> LastComings(const std::vector<RankProfile>& workers) {
  std::map<uint64_t, std::pair<size_t, TimeNs>> steps;  // how many came, and the last
  for (const RankProfile& worker : workers) {
    for (const AllreduceTimes& one : worker.allreduces) {
      const TimeNs came = one.begin - worker.clock_offset;
      auto& [number, last] = steps.try_emplace(one.step, 0, came).first->second;
      ++number;
      last = std::max(last, came);
    }
  }
  std::unordered_map<uint64_t, TimeNs> of_all;
  for (const auto& [step, come] : steps) {
    if (come.first == workers.size()) of_all.emplace(step, come.second);
  }
  return of_all;
}

constexpr PhaseLog::Phase kAllreduce = Number(StepPhase::kAllreduce);

void Divide(const std::unordered_map<uint64_t, TimeNs>& last_comings, RankProfile* worker) {
  PhaseRecord& record = worker->threads.at(0).record;
  const auto wait_of = [&](uint64_t step, TimeNs begin, TimeNs end) -> TimeNs {
    const auto last = last_comings.find(step);
    if (last == last_comings.end()) return 0;
    return std::clamp<TimeNs>(last->second + worker->clock_offset - begin, 0, end - begin);
  };
  const auto add = [&record](PhaseKind kind, const PhaseTotal& total) {
    record.kinds.push_back(std::move(kind));
    record.totals.push_back(total);
    return static_cast<uint32_t>(record.kinds.size() - 1);
  };
  TimeNs waited = 0, all = 0;
  for (const AllreduceTimes& one : worker->allreduces) {
    waited += wait_of(one.step, one.begin, one.end);
    all += one.end - one.begin;
  }
  const PhaseTotal total = std::exchange(record.totals[kAllreduce], {});
  const auto share = static_cast<double>(waited) / static_cast<double>(std::max<TimeNs>(all, 1));
  const auto wait_ns = static_cast<uint64_t>(std::llround(share * static_cast<double>(total.ns)));
  const uint32_t wait_phase =
      add({.name = "allreduce/wait"}, {.ns = wait_ns, .times = total.times});
  const uint32_t sum_phase =
      add({.name = "allreduce/sum", .amounts = record.kinds[kAllreduce].amounts},
          {.ns = total.ns - wait_ns, .times = total.times, .amounts = total.amounts});
  std::vector<PhaseSpan> spans;
  spans.reserve(record.spans.size());
  for (PhaseSpan span : record.spans) {
    if (span.phase == kAllreduce && last_comings.contains(span.step)) {
      const TimeNs summing = span.begin + wait_of(span.step, span.begin, span.end);
      if (summing > span.begin) {
        spans.push_back(
            {.begin = span.begin, .end = summing, .step = span.step, .phase = wait_phase});
      }
      span.begin = summing;
      span.phase = sum_phase;
    }
    spans.push_back(span);
  }
  record.spans = std::move(spans);
}

}  // namespace

void DivideAllreduce(std::vector<RankProfile>* workers) {
  if (workers->size() < 2) return;
  const std::unordered_map<uint64_t, TimeNs> last_comings = LastComings(*workers);
  for (RankProfile& worker : *workers) Divide(last_comings, &worker);
}

}  // namespace rowhouse
