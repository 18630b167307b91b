// rowhouse bench regime: what bounds Micro-DLRM and its DRAM sibling on this machine, with the
// evidence in a file that --verify checks.
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "common/clock.h"
#include "common/durable_file.h"
#include "common/host_limits.h"
#include "common/json_text.h"
#include "common/median.h"
#include "launch/bench/bench.h"
#include "launch/bench/child_run.h"
#include "launch/bench/stopwatch.h"
#include "launch/command_line/verb_flags.h"
#include "launch/figures/json_output.h"
#include "launch/hosts/host_facts.h"
#include "launch/regimes/local_model.h"
#include "ps/cache/page_memory.h"

namespace rowhouse {
namespace {

constexpr uint64_t kMinTableBytes = uint64_t{256} << 20;  // caches hold less than that
constexpr uint64_t kOriginalTableBytes = uint64_t{2'000'000} * 256 * sizeof(float);
constexpr int kRegimeRounds = 5;            // of all steps that are compared, interleaved
constexpr double kSecondsAPoint = 0.05;     // of each round
constexpr uint64_t kLookups = 8192;         // of a call: the original's
constexpr uint64_t kSmallTableRows = 1682;  // the original's cache-resident table
constexpr uint32_t kDim = 256;

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
    const Stopwatch stopwatch;
    for (int steps = 0; steps < 5 || stopwatch.Seconds() < seconds; ++steps) {
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
  // Enough that rows of the DRAM table have left the caches when their batch comes again.
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
Status RunAll(const std::vector<Family>& families) {
  for (int round = -1; round < kRegimeRounds; ++round) {
    for (const Family& family : families) {
      for (Subject* subject : family.all()) {
        RETURN_IF_ERROR(subject->Run(kSecondsAPoint));
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

// Bytes for tables: `asked`, or for 0 a third of what the host has free, at most the original's.
// kUsage if they do not fit what is free; kUnavailable, with the reason, if that is too little.
Result<uint64_t> BytesForTables(uint64_t asked) {
  const uint64_t free = BytesOfField("/proc/meminfo", "MemAvailable:");  // 0: not known
  if (asked > 0 && free > 0 && asked >= free) {
    return UsageError("tables of {} MiB do not fit the {} MiB of memory that this host has free",
                      asked >> 20, free >> 20);
  }
  const uint64_t bytes = std::min(asked > 0 ? asked : free / 3, kOriginalTableBytes);
  if (bytes >= kMinTableBytes) return bytes;
  return MakeStatus(StatusCode::kUnavailable,
                    "bench regime needs tables far larger than the CPU's caches, {} MiB at least, "
                    "and takes a third of the host's free memory ({} MiB): end other programs, or "
                    "use a larger host",
                    kMinTableBytes >> 20, free >> 20);
}

// Products use one OpenMP thread.
Result<RegimeEvidence> MeasureRegimes(uint64_t asked_bytes) {
  ASSIGN_OR_RETURN(const uint64_t limit, BytesForTables(asked_bytes));
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
  RETURN_IF_ERROR(RunAll(families));
  for (const Family& family : families) evidence.configs.push_back(EvidenceOf(family));
  for (size_t m = 0; m < models.size(); ++m) {
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

// ---- The command --------------------------------------------------------------------------------

constexpr std::string_view kVerifyFlag = "verify";
constexpr std::string_view kTableMbFlag = "table_mb";
constexpr double kCalmSpread = 0.25;  // of the medians of rounds

REGISTER_MEMBER(
    AddVerbFlag(
        {.name = kVerifyFlag,
         .verbs = kBench,
         .help = "With regime: measures nothing, and checks the evidence in this file, which "
                 "regime --json=FILE wrote, against the rules of its classes"}) &&
    AddVerbFlag(
        {.name = kTableMbFlag,
         .verbs = kBench,
         .help = "With regime: MiB of the largest table, 256 to 1953, the original's. Default: "
                 "1953, or a third of the free memory if that is less"}));

Result<RegimeEvidence> ReadEvidence(const std::string& file) {
  const Result<std::string> text = ReadFile(file);
  if (!text.ok()) return text.status();
  const Result<nlohmann::json> json = ParseJson(text.value());
  if (json.ok()) return EvidenceFromJson(json.value());
  return UsageError("it {}; rowhouse bench regime --json=FILE writes evidence",
                    json.status().message());
}

Status Verify(const std::string& file) {
  const Result<RegimeEvidence> evidence = ReadEvidence(file);
  // The operator named the file, so any error is the operator's to mend.
  if (!evidence.ok()) {
    return UsageError("--{}={}: {}", kVerifyFlag, file, evidence.status().message());
  }
  const std::vector<std::string> found = Contradictions(evidence.value());
  if (found.empty()) {
    fmt::print("{}: the figures bear out every class\n", file);
    return OkStatus();
  }
  std::string text;
  for (const std::string& one : found) text += (text.empty() ? "" : "\n") + one;
  return MakeStatus(StatusCode::kInternal, "{}: {}", file, text);
}

Status RunRegime(const CommandLine& command_line, const Settings& /*settings*/) {
  if (const std::string file = command_line.Value(kVerifyFlag); !file.empty()) {
    for (const std::string_view flag : {kJsonFlag, kTableMbFlag}) {
      const std::string value = command_line.Value(flag);
      if (value.empty()) continue;
      return UsageError("--{}={} is for a measurement, and --{}={} makes none; leave one out", flag,
                        value, kVerifyFlag, file);
    }
    return Verify(file);
  }
  uint64_t mib = 0;
  // No cache holds the least; the most is the original's.
  RETURN_IF_ERROR(ReadFlag(command_line, kTableMbFlag,
                           WholeValue<uint64_t>(kMinTableBytes >> 20, kOriginalTableBytes >> 20),
                           &mib));
  fmt::print(stderr, "bench regime: this takes about 30 s on a machine at rest\n");
  omp_set_num_threads(1);
  ASSIGN_OR_RETURN(const RegimeEvidence evidence, MeasureRegimes(mib << 20));
  std::string text = EvidenceText(evidence);
  for (const auto& list : {Contradictions(evidence), ContractMisses(evidence)}) {
    for (const std::string& one : list) text += "\nnote: " + one;
  }
  for (const ConfigEvidence& config : evidence.configs) {
    if (config.step_spread <= kCalmSpread) continue;
    text += fmt::format(
        "\nnote: {} {}: rounds are {:.0f} % apart; measure again when the machine is at rest",
        config.name, config.place, 100 * config.step_spread);
  }
  return DeliverFigures(command_line.Value(kJsonFlag), DumpJson(EvidenceToJson(evidence), 2) + "\n",
                        text + "\n");
}

REGISTER_MEMBER(AddBench(
    {.name = "regime",
     .what =
         "what bounds Micro-DLRM and its DRAM sibling: memory, caches, arithmetic, wire or calls "
         "(--json=FILE, --verify=FILE)",
     .time = "30 s",
     .flags = {std::string(kVerifyFlag), std::string(kTableMbFlag)},
     .run = &RunRegime}));

}  // namespace
}  // namespace rowhouse
