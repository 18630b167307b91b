#include "launch/lab/gains.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "common/counted.h"
#include "launch/report/figure_text.h"
#include "sharding/cost/step_traffic.h"

namespace rowhouse {
namespace {

// One thing that could be different.
struct Change {
  std::string what, how;
  std::function<void(LabRun*)> apply;
  bool keeps_rows = true;  // it needs no other distribution of rows
};

Change MoreCache(const LabRun& run, uint64_t factor) {
  const uint64_t bytes = run.workload.storage.cache_bytes * factor;
  return {.what = fmt::format("{} times the cache: {} on each PS node", factor,
                              BytesText(static_cast<double>(bytes))),
          .how = fmt::format("--cache_mb={}", bytes >> 20),
          .apply = [bytes](LabRun* changed) { changed->workload.storage.cache_bytes = bytes; }};
}

Change MoreNodes(const LabRun& run, uint32_t ps) {
  return {.what = fmt::format("{}{}", Counted(ps, "PS node"),
                              run.cluster.hosts > 1 ? " on the same hosts" : ""),
          .how = fmt::format("--ps={}", ps),
          .apply = [ps](LabRun* changed) { changed->cluster.ps = ps; }};
}

Change MoreWorkers(uint32_t workers) {
  return {.what = Counted(workers, "worker") + " for the same samples",
          .how = fmt::format("--workers={}", workers),
          .apply = [workers](LabRun* changed) {
            changed->cluster.workers = workers;
            SetStep(changed->workload.step.samples, workers, &changed->workload);
          }};
}

Change MoreThreads(uint32_t threads) {
  return {.what = Counted(threads, "thread") + " of a worker",
          .how = fmt::format("--threads={}", threads),
          .apply = [threads](LabRun* changed) { changed->cluster.threads = threads; }};
}

Change NarrowRows() {
  return {.what = "rows stored in bf16",
          .how = "precision: bf16 of the tables",
          .apply = [](LabRun* run) {
            for (TableSpec& table : run->workload.tables.physical) table.precision = "bf16";
            run->settings.embedding = run->workload.tables;
          }};
}

Change FasterNetwork(double gbits) {
  return {.what = fmt::format("a network of {} Gb/s", gbits),
          .how = fmt::format("--network_gbits={}", gbits),
          .apply = [gbits](LabRun* changed) { changed->cluster.network_gbits = gbits; }};
}

std::vector<Change> ChangesOf(const LabRun& run, const CandidatePlan& from) {
  std::vector<Change> changes;
  const bool has_misses = from.cost.hit_rate < 0.9999 && run.workload.storage.store != "memory";
  const bool may_grow = CachesNote(run).empty();  // or else they are as large as memory lets them
  if (has_misses && may_grow && run.workload.storage.cache_bytes > 0) {
    changes.push_back(MoreCache(run, 2));
    changes.push_back(MoreCache(run, 8));
  }
  const auto is_wide = [](const TableSpec& table) { return table.precision == "f32"; };
  if (std::ranges::any_of(run.workload.tables.physical, is_wide)) changes.push_back(NarrowRows());
  changes.push_back(MoreNodes(run, run.cluster.ps + 1));
  changes.push_back(MoreNodes(run, 2 * run.cluster.ps));
  if (run.workload.step.samples >= 2 * run.cluster.workers) {
    changes.push_back(MoreWorkers(2 * run.cluster.workers));
  }
  changes.push_back(MoreThreads(2 * run.cluster.threads));
  if (run.cluster.network_gbits > 0) {
    changes.push_back(FasterNetwork(4 * run.cluster.network_gbits));
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
    gains.push_back(GainOf({.what = "another plan: " + best->title, .how = how}, from, *best));
  }
  std::ranges::stable_sort(gains, std::greater(), [](const Gain& gain) {
    return gain.refused.empty() ? gain.share : -1e9;
  });
  return gains;
}

}  // namespace rowhouse
