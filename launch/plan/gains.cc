#include "launch/plan/gains.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "common/counted.h"
#include "launch/figures/figure_text.h"
#include "sharding/lab/traffic/step_traffic.h"

namespace rowhouse {
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
      changes.push_back({fmt::format("{} times the cache: {} on each PS node", factor,
                                     BytesText(static_cast<double>(bytes))),
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

Gain GainOf(const Change& change, const CandidatePlan& from, const CandidatePlan& changed) {
  Gain gain{.what = change.what, .how = change.how, .refused = changed.refused};
  if (!gain.refused.empty()) return gain;
  gain.ms = changed.cost.ms;
  gain.share = from.cost.ms > 0 ? 1 - changed.cost.ms / from.cost.ms : 0;
  return gain;
}

}  // namespace

Result<std::vector<Gain>> GainsOf(const LabRun& run, const CandidatePlan& from,
                                  std::span<const CandidatePlan> candidates) {
  std::vector<Gain> gains;
  for (const Change& change : ChangesOf(run, from)) {
    LabRun changed = run;
    change.apply(&changed);
    ASSIGN_OR_RETURN(const CandidatePlan candidate, MakeCandidate(changed, from.name));
    gains.push_back(GainOf(change, from, candidate));
  }
  const CandidatePlan* const best = BestOf(candidates);
  if (best != nullptr && best->name != from.name) {
    const bool is_planned = best->name == kPlannedName;
    const std::string strategy = best->name.substr(0, best->name.find(kBagsSuffix));
    const bool is_plan = is_planned || IsPlanFile(best->name);
    std::string how = is_planned ? "--plan=auto" : (is_plan ? "--plan=" : "--strategy=") + strategy;
    if (!is_planned && strategy != best->name) how += " --pool_on=shards";
    gains.push_back(GainOf({"another plan: " + best->title, how, nullptr}, from, *best));
  }
  std::ranges::stable_sort(gains, std::greater(), [](const Gain& gain) {
    return gain.refused.empty() ? gain.share : -1e9;
  });
  return gains;
}

}  // namespace rowhouse
