#include "launch/regimes/regime.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "common/clock.h"
#include "common/durable_file.h"
#include "common/median.h"
#include "launch/bench/child_run.h"
#include "launch/hosts/host_facts.h"
#include "launch/regimes/local_model.h"
#include "launch/regimes/regime_class.h"
#include "ps/cache/page_memory.h"

namespace rowhouse {
namespace {

constexpr uint64_t kLookups = 8192;         // of a call: the original's
constexpr uint64_t kSmallTableRows = 1682;  // the original's cache-resident table
constexpr uint32_t kDim = 256;

// The value of "MemAvailable:     123 kB" and the like; 0: not there.
uint64_t FreeBytesOfHost() {
  const Result<std::string> text = ReadFile("/proc/meminfo");
  if (!text.ok()) return 0;
  std::istringstream lines(text.value());
  std::string name;
  uint64_t kib = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    if (words >> name >> kib && name == "MemAvailable:") return kib << 10;
  }
  return 0;
}

// A model in process and what its steps took.
class Subject {
 public:
  static Result<std::unique_ptr<Subject>> Make(const RegimeModel& model, std::span<float> memory) {
    ASSIGN_OR_RETURN(const Settings settings, SettingsOf(model));
    return std::make_unique<Subject>(model, settings, memory);
  }
  Subject(const RegimeModel& model, const Settings& settings, std::span<float> memory)
      : floats_(LocalModel::FloatsOf(settings)),
        lookups_(model.batch * model.bag),
        model_(settings, memory) {
    for (uint64_t key = 0; key < kBatches; ++key) {
      batches_.push_back(SamplesOf(model, model.batch, key));
    }
  }

  // Steps for so long, at least five.
  Status Run(double seconds) {
    using SteadyClock = std::chrono::steady_clock;
    const auto end = SteadyClock::now() + std::chrono::duration<double>(seconds);
    for (int steps = 0; steps < 5 || SteadyClock::now() < end; ++steps) {
      ASSIGN_OR_RETURN(const LocalTimes times, model_.Step(batches_[next_++ % kBatches]));
      times_.push_back(times);
    }
    return OkStatus();
  }

  // The first steps, in which oneDNN prepares its products, are not counted.
  void Forget() { times_.clear(); }

  void EndRound() {
    const std::vector<LocalTimes> round(times_.begin() + static_cast<ptrdiff_t>(counted_),
                                        times_.end());
    std::vector<double> steps;
    for (const LocalTimes& times : round) steps.push_back(times.step());
    rounds_.push_back(MedianOf(std::move(steps)));
    counted_ = times_.size();
  }
  // Of the medians of rounds, as a share of the step.
  double Spread() const {
    const auto [least, most] = std::ranges::minmax(rounds_);
    return (most - least) * 1e6 / step_us();
  }

  // Of a step, by what `part` takes.
  template <typename Part>
  double Median(const Part& part) const {
    std::vector<double> values;
    for (const LocalTimes& times : times_) values.push_back(part(times));
    return MedianOf(std::move(values));
  }
  double step_us() const {
    return 1e6 * Median([](const LocalTimes& times) { return times.step(); });
  }
  double Share(double LocalTimes::*part) const {
    return Median([part](const LocalTimes& times) { return times.*part / times.step(); });
  }
  double lookup_gbs() const {
    return static_cast<double>(model_.lookup_bytes(lookups_)) * 1e-9 /
           Median([](const LocalTimes& times) { return times.lookups; });
  }
  uint64_t table_bytes() const { return floats_ * sizeof(float); }

 private:
  // So many that rows of the DRAM table have left the caches when their batch comes again.
  static constexpr uint64_t kBatches = 64;

  const uint64_t floats_, lookups_;
  LocalModel model_;
  std::vector<Batch> batches_;
  uint64_t next_ = 0;
  std::vector<LocalTimes> times_;
  std::vector<double> rounds_;  // medians, seconds
  size_t counted_ = 0;          // of times_, in rounds_
};

// A model, and the same with one thing varied. Of the widths the model's own is not among them.
struct Family {
  RegimeModel model;
  std::unique_ptr<Subject> itself, one_sample;
  std::vector<std::pair<double, std::unique_ptr<Subject>>> by_row_width, by_mlp_width;

  std::vector<Subject*> all() const {
    std::vector<Subject*> list = {itself.get(), one_sample.get()};
    for (const auto& [width, subject] : by_row_width) list.push_back(subject.get());
    for (const auto& [width, subject] : by_mlp_width) list.push_back(subject.get());
    return list;
  }
};

// Tables of all widths of rows have the same bytes, so that the caches hold the same part of them.
RegimeModel WithWidth(RegimeModel model, uint32_t dim) {
  if (model.buckets > 0) model.buckets = model.buckets * model.dim / dim;
  model.dim = dim;
  return model;
}

RegimeModel WithMlps(RegimeModel model, uint32_t factor) {
  model.mlp_factor = factor;
  return model;
}

Result<Family> FamilyOf(const RegimeModel& model, std::span<float> memory) {
  Family family{.model = model};
  ASSIGN_OR_RETURN(family.itself, Subject::Make(model, memory));
  RegimeModel one = model;
  one.batch = 1;
  ASSIGN_OR_RETURN(family.one_sample, Subject::Make(one, memory));
  for (const uint32_t times : {1u, 2u, 8u}) {
    const uint32_t dim = model.dim * times / 4;
    ASSIGN_OR_RETURN(auto subject, Subject::Make(WithWidth(model, dim), memory));
    family.by_row_width.emplace_back(dim, std::move(subject));
  }
  for (const uint32_t factor : {2u, 4u}) {
    ASSIGN_OR_RETURN(auto subject, Subject::Make(WithMlps(model, factor), memory));
    family.by_mlp_width.emplace_back(factor, std::move(subject));
  }
  return family;
}

// Interleaved, so that a machine that slows down slows all alike.
Status RunAll(const std::vector<Family>& families, const RegimeOptions& options) {
  for (int round = -1; round < options.rounds; ++round) {
    for (const Family& family : families) {
      for (Subject* subject : family.all()) {
        RETURN_IF_ERROR(subject->Run(options.seconds_a_point));
        if (round < 0) {
          subject->Forget();
        } else {
          subject->EndRound();
        }
      }
    }
  }
  return OkStatus();
}

ConfigEvidence EvidenceOf(const Family& family) {
  const Subject& itself = *family.itself;
  ConfigEvidence config{.name = family.model.name,
                        .place = "in process",
                        .table_bytes = itself.table_bytes(),
                        .batch = family.model.batch,
                        .step_us = itself.step_us(),
                        .step_spread = itself.Spread(),
                        .one_sample_us = family.one_sample->step_us(),
                        .lookups = itself.Share(&LocalTimes::lookups),
                        .mlp = itself.Share(&LocalTimes::mlp),
                        .other = itself.Share(&LocalTimes::other),
                        .lookup_gbs = itself.lookup_gbs()};
  for (const auto& [width, subject] : family.by_row_width) {
    config.by_row_width.push_back({.width = width, .step_us = subject->step_us()});
  }
  config.by_row_width.push_back(
      {.width = static_cast<double>(family.model.dim), .step_us = config.step_us});
  std::ranges::sort(config.by_row_width, {}, &WidthTime::width);
  config.by_mlp_width.push_back({.width = 1, .step_us = config.step_us});
  for (const auto& [width, subject] : family.by_mlp_width) {
    config.by_mlp_width.push_back({.width = width, .step_us = subject->step_us()});
  }
  return config;
}

// Both models by `rowhouse train`: one worker, one PS node with all rows in its cache.
Result<ConfigEvidence> ThroughShard(const RegimeModel& model, uint64_t table_bytes) {
  constexpr int kSteps = 400;
  ASSIGN_OR_RETURN(
      const nlohmann::json report,
      TrainInChild({.yaml = YamlOf(model),
                    .flags = {"--store=memory", fmt::format("--num_batches={}", kSteps),
                              fmt::format("--cache_mb={}", (table_bytes >> 19) + 64)}}));
  StepPhases phases;
  for (const NamedStepPhase& phase : kNamedStepPhases) {
    phases.*phase.value = report.at("step_phases").at(phase.name).get<double>();
  }
  const double all = phases.total();
  const auto share = [&](double seconds) { return all > 0 ? seconds / all : 0.0; };
  const double lookups = phases.SumOf({PhaseGroup::kRows}), mlp = phases.mlp + phases.dense_update,
               wire = phases.SumOf({PhaseGroup::kExchange});
  return ConfigEvidence{.name = model.name,
                        .place = "through a shard",
                        .table_bytes = table_bytes,
                        .batch = model.batch,
                        .step_us = report.at("totals").at("median_step_ms").get<double>() * 1e3,
                        .lookups = share(lookups),
                        .mlp = share(mlp),
                        .wire = share(wire),
                        .other = share(all - lookups - mlp - wire)};
}

LookupFigures TimeLookups(std::span<const float> memory) {
  constexpr int kCalls = 15;
  LookupTiming dram(memory, memory.size() / kDim, kDim), cache_256(memory, kSmallTableRows, kDim),
      cache_8(memory, kSmallTableRows, 8);
  std::vector<double> from_dram, from_cache, from_cache_8, few, many;
  for (int call = 0; call <= kCalls; ++call) {
    const auto add = [call](std::vector<double>* times, double ns) {
      if (call > 0) times->push_back(ns);
    };
    add(&from_dram, dram.CallNs(kLookups) / kLookups);
    // What the other table drove out comes back.
    for (int warm = 0; warm < 3; ++warm) cache_256.CallNs(kLookups);
    add(&from_cache, cache_256.CallNs(kLookups) / kLookups);
    for (int warm = 0; warm < 3; ++warm) cache_8.CallNs(kLookups);
    add(&from_cache_8, cache_8.CallNs(kLookups) / kLookups);
    add(&few, cache_8.CallNs(1));
    add(&many, cache_8.CallNs(65));
  }
  const double one = MedianOf(few), each = (MedianOf(many) - one) / 64.0;
  return {.rows = kLookups,
          .dram_256_ns = MedianOf(from_dram),
          .cache_256_ns = MedianOf(from_cache),
          .cache_8_ns = MedianOf(from_cache_8),
          .dram_table_bytes = dram.bytes(),
          .call_ns = std::max(one - each, 0.0)};
}

// Bytes for tables; kUsage and kUnavailable as MeasureRegimes.
Result<uint64_t> BytesForTables(const RegimeOptions& options) {
  const uint64_t free = FreeBytesOfHost();
  if (options.memory_bytes > 0 && free > 0 && options.memory_bytes >= free) {
    return UsageError("tables of {} MiB do not fit the {} MiB of memory that this host has free",
                      options.memory_bytes >> 20, free >> 20);
  }
  const uint64_t limit = options.memory_bytes > 0 ? options.memory_bytes : free / 3;
  const uint64_t bytes = std::min(limit, kOriginalTableBytes);
  if (bytes >= kMinTableBytes) return bytes;
  return MakeStatus(StatusCode::kUnavailable,
                    "bench regime needs tables far larger than the CPU's caches, {} MiB at least, "
                    "and takes a third of the host's free memory ({} MiB): end other programs, or "
                    "use a larger host",
                    kMinTableBytes >> 20, free >> 20);
}

}  // namespace

Result<RegimeEvidence> MeasureRegimes(const RegimeOptions& options) {
  ASSIGN_OR_RETURN(const uint64_t limit, BytesForTables(options));
  const PageMemory pages(limit);
  std::span<float> memory(reinterpret_cast<float*>(pages.data()), limit / sizeof(float));
  std::ranges::fill(memory, 0.01f);  // Pages that nobody wrote are all the same one.

  RegimeEvidence evidence{.host = HostName(),
                          .cpu = CpuName(),
                          .measured_at = NowInUtc(),
                          .cores = std::thread::hardware_concurrency()};
  evidence.by_table = TimesOverTableSize(memory, kDim, kLookups);
  evidence.effective_cache_bytes = KneeOf(evidence.by_table);
  if (evidence.effective_cache_bytes == 0) {
    return MakeStatus(StatusCode::kUnavailable,
                      "lookups of tables up to {} MiB take about the same time: this machine's "
                      "caches hold them all, or hide memory",
                      limit >> 20);
  }
  evidence.lookups = TimeLookups(memory);

  const uint64_t rows = memory.size() / kDim;
  const std::vector<RegimeModel> models = {MicroDlrm(), MicroDlrmDram(rows),
                                           MicroDlrmDramBags(rows)};
  std::vector<Family> families;
  for (const RegimeModel& model : models) {
    ASSIGN_OR_RETURN(Family family, FamilyOf(model, memory));
    families.push_back(std::move(family));
  }
  RETURN_IF_ERROR(RunAll(families, options));
  for (const Family& family : families) evidence.configs.push_back(EvidenceOf(family));
  for (size_t m = 0; options.uses_shard && m < models.size(); ++m) {
    if (models[m].bag > 1) continue;  // The data source has bags of one id.
    ASSIGN_OR_RETURN(ConfigEvidence config,
                     ThroughShard(models[m], evidence.configs[m].table_bytes));
    evidence.configs.push_back(std::move(config));
  }
  for (ConfigEvidence& config : evidence.configs) {
    const RegimeClass found = ClassOf(config, evidence.effective_cache_bytes);
    config.regime = RegimeName(found.regime);
    config.why = found.why;
  }
  return evidence;
}

}  // namespace rowhouse
