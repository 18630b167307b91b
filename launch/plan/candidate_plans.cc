#include "launch/plan/candidate_plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "common/counted.h"
#include "common/nearest_name.h"
#include "common/read_value.h"
#include "launch/figures/figure_text.h"
#include "launch/prediction/auto_plan.h"
#include "launch/prediction/plan_of_run.h"
#include "launch/settings/strategy_settings.h"
#include "sharding/lab/cost/worker_memory.h"
#include "sharding/lab/planner/plan_limits.h"
#include "sharding/lab/traffic/step_traffic.h"
#include "sharding/plans/strategy.h"

namespace rowhouse {
namespace {

bool PoolsOnShards(std::string_view name) { return name.ends_with(kBagsSuffix); }

// Names of strategies have neither dots nor slashes.
bool IsPlanFile(std::string_view name) {
  return name.ends_with(".json") || name.find('/') != std::string_view::npos;
}

std::string StrategyOf(std::string_view name) {
  if (PoolsOnShards(name)) name.remove_suffix(kBagsSuffix.size());
  return std::string(name);
}

CandidatePlan::OverNodes OverNodes(const StepCost& cost, double RankCost::*figure) {
  CandidatePlan::OverNodes over;
  for (const RankCost& node : cost.ps) {
    over.max = std::max(over.max, node.*figure);
    over.mean += node.*figure / static_cast<double>(cost.ps.size());
  }
  return over;
}

// "; or --cache_mb=N", with which a PS node keeps to its memory; "" where all rows are in memory or
// in caches, no node lacks any, or no cache is small enough.
std::string SmallerCacheText(const LabRun& run, const StepCost& cost) {
  const StorageShape& storage = run.workload.storage;
  const auto limit = static_cast<double>(run.cluster.ps_memory_bytes);
  const auto full = static_cast<double>(storage.cache_bytes);
  double most = 0;
  for (const RankCost& node : cost.ps) most = std::max(most, node.memory_bytes);
  if (limit == 0 || most <= limit || !storage.has_files || full >= most) return "";
  const auto cache = static_cast<uint64_t>(full * limit / most) >> 20;
  return cache == 0 ? "" : fmt::format("; or --cache_mb={}", cache);
}

// Why a PS node or the workers have no room for their parts of the plan; "" if each has.
std::string WhyTooLarge(const LabRun& run, const CandidatePlan& candidate) {
  const Machine& machine = run.machine.machine;
  const NodeLimits limits{.worker_bytes = WorkerMemoryLimit(run.cluster, machine)};
  const std::string why =
      PlanLimits(run.workload, run.cluster, limits).WhyTooMuch(candidate.plan, candidate.cost);
  if (why.empty()) return "";
  return why + LimitsText(run.cluster, machine) + SmallerCacheText(run, candidate.cost);
}

// As the operator's settings but for the strategy.
Settings WithStrategy(const LabRun& run, const std::string& name) {
  Settings settings = run.settings;
  if (name == settings.sharding.plan) return settings;
  if (IsPlanFile(name)) {
    settings.sharding.plan = name;
    return settings;
  }
  settings.sharding.plan.clear();
  settings.sharding.strategy = StrategyOf(name);
  settings.sharding.pool_on = PoolsOnShards(name) ? "shards" : "workers";
  ForgetIdleStrategySettings({}, &settings);
  return settings;
}

// The planner's plan for the run's own workload, cluster and machine.
void PlaceByPlanner(const LabRun& run, CandidatePlan* candidate) {
  Settings settings = run.settings;
  if (candidate->name != settings.sharding.plan) settings.sharding.plan.clear();
  Result<PlannedRun> planned = AutoPlanOf(settings, run.workload, run.cluster, run.machine.machine);
  Status status = planned.status();
  if (status.ok()) {
    status = CheckPlanOfRun(run.settings, planned.value().plan, run.cluster.shards_per_ps);
  }
  if (!status.ok()) {
    candidate->refused = status.message();
    return;
  }
  candidate->plan = std::move(planned.value().plan);
  candidate->cost = std::move(planned.value().cost);
  candidate->tables = std::move(planned.value().tables);
  candidate->method = std::move(planned.value().method);
}

// Sets plan and cost, or `refused`.
Status Place(const LabRun& run, CandidatePlan* candidate) {
  if (candidate->name == kPlannedName) {
    PlaceByPlanner(run, candidate);
    return OkStatus();
  }
  Result<Plan> plan = PlanOf(WithStrategy(run, candidate->name), run.cluster.ps,
                             run.cluster.shards_per_ps, run.counts());
  if (!plan.ok()) {
    candidate->refused = plan.status().message();
    return OkStatus();
  }
  candidate->plan = std::move(plan).value();
  const Settings settings = WithStrategy(run, candidate->name);
  if (!settings.sharding.plan.empty()) {
    ASSIGN_OR_RETURN(const PlanFile file, ReadPlanOf(settings));
    if (!file.name.empty()) candidate->title = file.name;
  }
  ASSIGN_OR_RETURN(candidate->cost,
                   PredictStep(run.workload, candidate->plan, run.cluster, run.machine.machine));
  candidate->refused = WhyTooLarge(run, *candidate);
  return OkStatus();
}

// Where two have one title, that of a plan file is followed by its path.
void TellApart(std::vector<CandidatePlan>* candidates) {
  std::map<std::string, int> times;
  for (const CandidatePlan& one : *candidates) ++times[one.title];
  for (CandidatePlan& one : *candidates) {
    if (one.title == one.name || times[one.title] == 1) continue;
    one.title += fmt::format(" ({})", one.name);
  }
}

}  // namespace

Result<std::vector<std::string>> CandidateNames(const std::string& value, const std::string& flag) {
  std::vector<std::string> known;
  for (const std::string& name : ShardingStrategies().Names()) {
    known.push_back(name);
    known.push_back(name + std::string(kBagsSuffix));
  }
  known.emplace_back(kPlannedName);
  if (value == "all") return known;
  if (value.empty()) return UsageError("{}: no strategy is named", flag);
  std::vector<std::string> names;
  for (const std::string& name : SplitAtCommas(value)) {
    if (!IsPlanFile(name) && std::ranges::count(known, name) == 0) {
      if (name == "all") {
        return UsageError("{}={}: all names every strategy; leave out the others", flag, value);
      }
      std::vector<std::string> may_be = known;
      may_be.emplace_back("all");
      return UsageError("{}={}: unknown strategy \"{}\" {}", flag, value, name,
                        DescribeKnownNames(name, may_be));
    }
    if (std::ranges::count(names, name) == 0) names.push_back(name);
  }
  return names;
}

std::string ConfiguredName(const Settings& settings) {
  if (!settings.sharding.plan.empty()) return settings.sharding.plan;
  return settings.sharding.strategy +
         (settings.sharding.pool_on == "shards" ? std::string(kBagsSuffix) : "");
}

Result<CandidatePlan> MakeCandidate(const LabRun& run, const std::string& name) {
  CandidatePlan candidate;
  candidate.name = candidate.title = name;
  candidate.is_configured = name == ConfiguredName(run.settings);
  RETURN_IF_ERROR(Place(run, &candidate));
  if (!candidate.refused.empty()) return candidate;
  candidate.memory = OverNodes(candidate.cost, &RankCost::memory_bytes);
  candidate.load = OverNodes(candidate.cost, &RankCost::rows_pulled);
  return candidate;
}

Result<std::vector<CandidatePlan>> MakeCandidates(const LabRun& run,
                                                  std::span<const std::string> names) {
  std::vector<CandidatePlan> candidates;
  const auto add = [&](const std::string& name) -> Status {
    ASSIGN_OR_RETURN(CandidatePlan candidate, MakeCandidate(run, name));
    candidates.push_back(std::move(candidate));
    return OkStatus();
  };
  for (const std::string& name : names) RETURN_IF_ERROR(add(name));
  // A plan file that the run is given has no name of a strategy.
  const std::string& given = run.settings.sharding.plan;
  if (!given.empty() && std::ranges::count(names, given) == 0) RETURN_IF_ERROR(add(given));
  TellApart(&candidates);
  // Of equal ones the planner's first: it says what other forms would cost.
  const auto rank = [](const CandidatePlan& one) {
    return std::make_tuple(!one.refused.empty(), one.cost.ms, one.name != kPlannedName);
  };
  std::ranges::stable_sort(candidates, {}, rank);
  return candidates;
}

const CandidatePlan* BestOf(std::span<const CandidatePlan> candidates) {
  const bool is_there = !candidates.empty() && candidates.front().refused.empty();
  return is_there ? &candidates.front() : nullptr;
}

const CandidatePlan* ConfiguredOf(std::span<const CandidatePlan> candidates) {
  for (const CandidatePlan& one : candidates) {
    if (one.is_configured && one.refused.empty()) return &one;
  }
  return BestOf(candidates);
}

// ---- What would help ----------------------------------------------------------------------------

namespace {

// One thing that could be different.
struct Change {
  std::string what, how;
  std::function<void(LabRun*)> apply;
};

std::vector<Change> ChangesOf(const LabRun& run, const CandidatePlan& from) {
  const ClusterShape& cluster = run.cluster;
  std::vector<Change> changes;
  const bool has_misses = from.cost.hit_rate < 0.9999 && run.workload.storage.has_files;
  const bool may_grow = CachesNote(run).empty();  // or else they are as large as memory lets them
  if (has_misses && may_grow && run.workload.storage.cache_bytes > 0) {
    for (const uint64_t factor : {2, 8}) {
      const uint64_t bytes = run.workload.storage.cache_bytes * factor;
      changes.push_back(
          {fmt::format("{} times the cache: {} on each PS node", factor, BytesText(bytes)),
           fmt::format("--cache_mb={}", bytes >> 20),
           [=](LabRun* to) { to->workload.storage.cache_bytes = bytes; }});
    }
  }
  const auto is_wide = [](const TableSpec& table) { return table.precision == "f32"; };
  if (std::ranges::any_of(run.workload.tables.physical, is_wide)) {
    changes.push_back({"rows stored in bf16", "precision: bf16 of the tables", [](LabRun* to) {
                         for (TableSpec& table : to->workload.tables.physical) {
                           table.precision = "bf16";
                         }
                         to->settings.embedding = to->workload.tables;
                       }});
  }
  for (const uint32_t ps : {cluster.ps + 1, 2 * cluster.ps}) {
    changes.push_back({Counted(ps, "PS node") + (cluster.hosts > 1 ? " on the same hosts" : ""),
                       fmt::format("--ps={}", ps), [=](LabRun* to) { to->cluster.ps = ps; }});
  }
  if (run.workload.step.samples >= 2 * cluster.workers) {
    const uint32_t workers = 2 * cluster.workers;
    changes.push_back({Counted(workers, "worker") + " for the same samples",
                       fmt::format("--workers={}", workers), [=](LabRun* to) {
                         to->cluster.workers = workers;
                         SetStep(to->workload.step.samples, workers, &to->workload);
                       }});
  }
  const uint32_t threads = 2 * cluster.threads;
  changes.push_back({Counted(threads, "thread") + " of a worker",
                     fmt::format("--threads={}", threads),
                     [=](LabRun* to) { to->cluster.threads = threads; }});
  if (cluster.network_gbits > 0) {
    const double gbits = 4 * cluster.network_gbits;
    changes.push_back({fmt::format("a network of {} Gb/s", gbits),
                       fmt::format("--network_gbits={}", gbits),
                       [=](LabRun* to) { to->cluster.network_gbits = gbits; }});
  }
  return changes;
}

Saving SavingOf(const Change& change, const CandidatePlan& from, const CandidatePlan& changed) {
  Saving saving{.what = change.what, .how = change.how, .refused = changed.refused};
  if (!saving.refused.empty()) return saving;
  saving.ms = changed.cost.ms;
  saving.share = from.cost.ms > 0 ? 1 - changed.cost.ms / from.cost.ms : 0;
  return saving;
}

}  // namespace

Result<std::vector<Saving>> SavingsOf(const LabRun& run, const CandidatePlan& from,
                                      std::span<const CandidatePlan> candidates) {
  std::vector<Saving> savings;
  for (const Change& change : ChangesOf(run, from)) {
    LabRun changed = run;
    change.apply(&changed);
    ASSIGN_OR_RETURN(const CandidatePlan candidate, MakeCandidate(changed, from.name));
    savings.push_back(SavingOf(change, from, candidate));
  }
  const CandidatePlan* const best = BestOf(candidates);
  if (best != nullptr && best->name != from.name) {
    const bool is_planned = best->name == kPlannedName;
    const std::string strategy = best->name.substr(0, best->name.find(kBagsSuffix));
    const bool is_plan = is_planned || IsPlanFile(best->name);
    std::string how = is_planned ? "--plan=auto" : (is_plan ? "--plan=" : "--strategy=") + strategy;
    if (!is_planned && strategy != best->name) how += " --pool_on=shards";
    savings.push_back(SavingOf({"another plan: " + best->title, how, nullptr}, from, *best));
  }
  std::ranges::stable_sort(savings, std::greater(), [](const Saving& saving) {
    return saving.refused.empty() ? saving.share : -1e9;
  });
  return savings;
}

std::string PlacementText(const LabRun& run, const Plan& plan, TableId table) {
  if (plan.is_on_workers(table)) return "on the workers";
  const auto slices = plan.slices(table);
  std::set<ShardId> shards;
  for (const Slice& slice : slices) shards.insert(slice.shard);
  std::string text;
  if (slices.size() == 1) {
    const uint32_t shard = Raw(slices[0].shard);
    text = fmt::format("whole on PS node {}", shard / run.cluster.shards_per_ps);
    if (run.cluster.shards_per_ps > 1) {
      text += fmt::format(", shard {}", shard % run.cluster.shards_per_ps);
    }
  } else {
    const size_t bands = plan.bands(table).size();
    const char* const what = bands == 1               ? "columns"
                             : bands == slices.size() ? "rows"
                                                      : "rows and columns";
    text = fmt::format("{} over {}", what, Counted(shards.size(), "shard"));
    if (slices.size() != shards.size()) text += fmt::format(" in {} slices", slices.size());
  }
  if (plan.pools_on_shards(table)) text += ", pooled there";
  if (plan.cache_share(table))
    text += fmt::format(", {:.4g} of the cache", *plan.cache_share(table));
  if (!plan.worker_rows(table).empty()) {
    text += fmt::format(", {} on the workers", Counted(plan.worker_rows(table).size(), "hot row"));
  }
  return text;
}

}  // namespace rowhouse
