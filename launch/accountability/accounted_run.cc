#include "launch/accountability/accounted_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <vector>

#include "launch/bench/stop_signal.h"
#include "launch/calibrate/measured_kernel.h"

namespace rowhouse {
namespace {

struct Attempt {
  std::vector<MeasuredStep> steps;  // by rising time
  Slowdown slowdown;

  double spread() const {
    return (steps.back().ms - steps.front().ms) / steps[steps.size() / 2].ms;
  }
};

Result<Attempt> Try(const TrainedConfig& config, int runs, SlowdownMeter* slowdown) {
  Attempt attempt;
  ASSIGN_OR_RETURN(const Slowdown before, slowdown->Latest());
  for (int i = 0; i < runs; ++i) {
    RETURN_IF_ERROR(StopSignal::Check());
    ASSIGN_OR_RETURN(MeasuredStep step, TrainOnce(config));
    attempt.steps.push_back(std::move(step));
  }
  ASSIGN_OR_RETURN(const Slowdown after, slowdown->Measure());
  attempt.slowdown = Slowdown::Between(before, after);
  std::ranges::sort(attempt.steps, {}, &MeasuredStep::ms);
  return attempt;
}

}  // namespace

Result<AccountedRun> Account(const TrainedConfig& config, const Machine& machine,
                             const AccountOptions& options, SlowdownMeter* slowdown) {
  AccountedRun run;
  run.config = config;
  ASSIGN_OR_RETURN(Attempt best, Try(config, options.runs, slowdown));
  while (best.spread() > AccountedRun::kMaxSpread && run.attempts < options.attempts) {
    ASSIGN_OR_RETURN(Attempt again, Try(config, options.runs, slowdown));
    if (again.spread() < best.spread()) best = std::move(again);
    ++run.attempts;
  }
  for (const MeasuredStep& step : best.steps) run.runs_ms.push_back(step.ms);
  run.measured = best.steps[best.steps.size() / 2];
  run.spread = best.spread();
  run.slowdown = best.slowdown;
  ASSIGN_OR_RETURN(const Machine now, SlowedDown(machine, best.slowdown));
  ASSIGN_OR_RETURN(run.predicted, PredictConfig(config, now));
  return run;
}

namespace {

// The time of all phases of some groups in both, as a ratio.
double Ratio(const MeasuredStep& then, const MeasuredStep& now,
             std::initializer_list<PhaseGroup> groups) {
  double before = 0, after = 0;
  for (const NamedStepPhase& phase : kNamedStepPhases) {
    if (std::ranges::count(groups, phase.group) == 0) continue;
    before += then.SteadyPhase(phase.name);
    after += now.SteadyPhase(phase.name);
  }
  return before > 0 && after > 0 ? after / before : 1;
}

double Slowdown::*KindOf(const std::string& figure) {
  for (const auto& [name, kernel] : MeasuredKernels()) {
    if (std::ranges::count(kernel.figures, figure) == 0) continue;
    if (kernel.group == PhaseGroup::kDense) return &Slowdown::products;
    if (kernel.group == PhaseGroup::kExchange || kernel.group == PhaseGroup::kAllreduce) {
      return &Slowdown::messages;
    }
  }
  return &Slowdown::memory;
}

}  // namespace

Slowdown Slowdown::Since(const MeasuredStep& then, const MeasuredStep& now) {
  return {.products = Ratio(then, now, {PhaseGroup::kDense}),
          .memory = Ratio(then, now, {PhaseGroup::kReading, PhaseGroup::kRows}),
          .messages = Ratio(then, now, {PhaseGroup::kExchange})};
}

Slowdown Slowdown::Between(const Slowdown& before, const Slowdown& after) {
  return {.products = std::sqrt(before.products * after.products),
          .memory = std::sqrt(before.memory * after.memory),
          .messages = std::sqrt(before.messages * after.messages)};
}

Result<Slowdown> SlowdownMeter::Measure() {
  if (then_ == nullptr) return Slowdown{};
  ASSIGN_OR_RETURN(const MeasuredStep now, TrainOnce(then_->config));
  latest_ = Slowdown::Since(then_->step, now);
  return *latest_;
}

Result<Machine> SlowedDown(const Machine& machine, const Slowdown& slowdown) {
  Machine slowed = machine;
  for (auto& [name, table] : slowed.kernels) {
    std::vector<double> ns = table.ns();
    const double slower = slowdown.*KindOf(name);
    for (double& time : ns) time *= slower;
    ASSIGN_OR_RETURN(table, KernelTable::Make(table.axes(), std::move(ns), table.spread()));
  }
  return slowed;
}

namespace {

// Sizes, precision and kinds of tables.
std::vector<TrainedConfig> ShapedConfigs() {
  return {
      {.name = "26 tables, dim 16", .tables = 26, .rows = 50'000, .bottom_mlp = "13, 128, 64"},
      {.name = "small batches", .steps = 500, .batch = 128},
      {.name = "large MLPs",
       .steps = 60,
       .dim = 32,
       .bottom_mlp = "13, 512, 256",
       .top_mlp = "512, 256, 1",
       .batch = 2048},
      {.name = "dim 64, large batches", .steps = 80, .dim = 64, .batch = 4096},
      {.name = "dim 64 in bf16", .steps = 100, .dim = 64, .precision = "bf16", .batch = 2048},
      {.name = "evenly spread ids, sgd",
       .dim = 32,
       .optimizer = "sgd",
       .zipf_exponent = 0,
       .batch = 2048},
      {.name = "quotient-remainder, 2 PS nodes",
       .ps = 2,
       .dim = 32,
       .kind = "kind: qr, collisions: 16",
       .batch = 2048},
      {.name = "block, projected", .dim = 64, .kind = "kind: block, block_dim: 16", .batch = 2048},
  };
}

// Bags, and plans of several PS nodes.
std::vector<TrainedConfig> PlacedConfigs() {
  return {
      {.name = "hashed, row-wise Adagrad",
       .tables = 12,
       .rows = 1'000'000,
       .dim = 32,
       .kind = "kind: hashed, buckets: 40000",
       .optimizer = "rowwise_adagrad",
       .batch = 2048},
      {.name = "bags of 20", .steps = 80, .dim = 32, .bag_length = 20, .batch = 512},
      {.name = "bags of 20, pooled on shards, 2 PS nodes",
       .ps = 2,
       .steps = 80,
       .dim = 32,
       .bag_length = 20,
       .batch = 512,
       .strategy = "table_wise_lpt",
       .pool_on = "shards"},
      {.name = "whole tables on 2 PS nodes, Adam",
       .ps = 2,
       .tables = 10,
       .dim = 32,
       .optimizer = "adam",
       .batch = 2048,
       .strategy = "table_wise_lpt"},
      {.name = "columns cut over 2 PS nodes",
       .ps = 2,
       .dim = 64,
       .batch = 2048,
       .strategy = "column_wise"},
  };
}

// Rows that do not fit the cache, and more processes than cores.
std::vector<TrainedConfig> CrowdedConfigs() {
  return {
      {.name = "a tenth of the rows in the cache",
       .steps = 120,
       .tables = 4,
       .rows = 300'000,
       .dim = 32,
       .batch = 2048,
       .cache_mb = 16},
      {.name = "2 workers", .workers = 2, .dim = 32, .batch = 4096},
      {.name = "2 workers, 2 PS nodes",
       .ps = 2,
       .workers = 2,
       .dim = 16,
       .bottom_mlp = "13, 256, 128",
       .top_mlp = "256, 128, 1",
       .batch = 4096},
      {.name = "3 PS nodes", .ps = 3, .dim = 32, .batch = 2048},
  };
}

}  // namespace

std::vector<TrainedConfig> AccuracyConfigs() {
  std::vector<TrainedConfig> configs = ShapedConfigs();
  for (const std::vector<TrainedConfig>& more : {PlacedConfigs(), CrowdedConfigs()}) {
    configs.insert(configs.end(), more.begin(), more.end());
  }
  return configs;
}

std::vector<TrainedConfig> QuickConfigs() {
  return {{.name = "quick", .steps = 30, .tables = 4, .rows = 5000, .batch = 256},
          {.name = "quick, 2 PS nodes, 2 workers",
           .ps = 2,
           .workers = 2,
           .steps = 30,
           .tables = 4,
           .rows = 5000,
           .bag_length = 4,
           .batch = 256,
           .strategy = "table_wise_lpt"}};
}

namespace {

TrainedConfig WithPlan(TrainedConfig config, const std::string& strategy, uint32_t ps,
                       const std::string& pool_on = "workers") {
  config.strategy = strategy;
  config.ps = ps;
  config.pool_on = pool_on;
  config.name =
      fmt::format("{} on {}{}", strategy, ps, pool_on == "shards" ? ", pooled there" : "");
  return config;
}

RankingTest RankingOf(const std::string& name, const TrainedConfig& workload) {
  return {.name = name,
          .plans = {WithPlan(workload, "row_wise", 1), WithPlan(workload, "row_wise", 2),
                    WithPlan(workload, "table_wise_lpt", 2)}};
}

}  // namespace

std::vector<RankingTest> RankingTests() {
  std::vector<RankingTest> tests = {
      RankingOf("26 tables, dim 16", {.steps = 100, .tables = 26, .rows = 50'000}),
      RankingOf("small batches", {.steps = 300, .batch = 128}),
      RankingOf("dim 64", {.steps = 60, .dim = 64, .batch = 4096}),
      RankingOf("evenly spread ids", {.steps = 100, .dim = 32, .zipf_exponent = 0, .batch = 2048}),
  };
  // Bags: who pools them.
  for (const uint32_t length : {5u, 20u, 50u}) {
    const TrainedConfig bags = {
        .steps = 60, .dim = 32, .bag_length = length, .batch = length > 20 ? 256u : 1024u};
    tests.push_back(
        {.name = fmt::format("bags of {}", length),
         .plans = {WithPlan(bags, "row_wise", 1), WithPlan(bags, "table_wise_lpt", 1, "shards"),
                   WithPlan(bags, "table_wise_lpt", 2),
                   WithPlan(bags, "table_wise_lpt", 2, "shards")}});
  }
  // Small tables: rows on the workers or on PS nodes.
  const TrainedConfig small = {
      .steps = 100, .tables = 8, .rows = 2000, .optimizer = "sgd", .batch = 2048};
  tests.push_back({.name = "small tables",
                   .plans = {WithPlan(small, "row_wise", 1), WithPlan(small, "row_wise", 2),
                             WithPlan(small, "replicated", 1)}});
  // Caches.
  TrainedConfig cached = {.steps = 80, .tables = 4, .rows = 300'000, .dim = 32, .batch = 2048};
  RankingTest caches = {.name = "shares of the cache", .plans = {}};
  for (const uint64_t mb : {16, 48, 512}) {
    cached.cache_mb = mb;
    TrainedConfig plan = WithPlan(cached, "row_wise", 1);
    plan.name = fmt::format("cache of {} MiB", mb);
    caches.plans.push_back(plan);
  }
  tests.push_back(caches);
  return tests;
}

}  // namespace rowhouse
