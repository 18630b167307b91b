#include "launch/plan/candidates_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "common/counted.h"
#include "launch/figures/figure_text.h"
#include "launch/figures/text_table.h"
#include "launch/prediction/auto_plan.h"
#include "sharding/lab/cost/memory_traffic.h"

namespace rowhouse {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr size_t kShownTables = 16;
// A smaller change of the time is within what predictions err.
constexpr double kWorthSaying = 0.01;

std::string Milliseconds(double ms) { return fmt::format("{:.{}f}", ms, ms < 10 ? 3 : 2); }

// ---- Memory traffic
// ------------------------------------------------------------------------------

// What a plan's rows ask of memory.
struct OfPlan {
  MemoryTraffic traffic;
  double gbs = 0;      // of a host
  double busiest = 0;  // bytes of the host that moves most
  double least_ms = 0;
};

OfPlan MemoryOf(const LabRun& run, const CandidatePlan& candidate) {
  const CpuMemory memory = CpuMemoryOf(run.machine.machine);
  OfPlan of{.traffic = MemoryTrafficOf(run.workload, candidate.plan, memory),
            .gbs = memory.dram_gbs};
  of.busiest = BytesOfBusiestHost(of.traffic, run.cluster);
  of.least_ms = of.busiest / of.gbs / 1e6;
  return of;
}

std::string MemoryTrafficText(const LabRun& run, const CandidatePlan& candidate) {
  const OfPlan of = MemoryOf(run, candidate);
  const bool has_sum = of.traffic.sum > 0;
  return fmt::format(
      "\nThe rows of a step of {} are {} in lines of 64 bytes ({} pulled, {} pooled, {} "
      "updated{}):\n{}at {:.3g} GB/s of memory {:.3g} ms, {} of the step.\n",
      candidate.title, BytesText(of.traffic.total()), BytesText(of.traffic.pull),
      BytesText(of.traffic.pool), BytesText(of.traffic.update),
      has_sum ? fmt::format(", {} of gradients summed on the workers", BytesText(of.traffic.sum))
              : "",
      run.cluster.hosts > 1 ? fmt::format("{} of them on the busiest host, ", BytesText(of.busiest))
                            : "",
      of.gbs, of.least_ms,
      PercentText(candidate.cost.ms > 0 ? of.least_ms / candidate.cost.ms : 0));
}

nlohmann::ordered_json MemoryTrafficToJson(const LabRun& run, const CandidatePlan& candidate) {
  const OfPlan of = MemoryOf(run, candidate);
  return {{"pull_bytes", of.traffic.pull},
          {"pool_bytes", of.traffic.pool},
          {"update_bytes", of.traffic.update},
          {"sum_bytes", of.traffic.sum},
          {"bytes", of.traffic.total()},
          {"busiest_host_bytes", of.busiest},
          {"dram_gbs", of.gbs},
          {"least_ms", of.least_ms}};
}

// ---- Text ---------------------------------------------------------------------------------------

TextTable TableOfCandidates(std::span<const CandidatePlan> candidates) {
  TextTable table = {.columns = {{.name = "strategy"},
                                 {.name = "memory, max", .is_number = true},
                                 {.name = "max/mean", .is_number = true},
                                 {.name = "on a worker", .is_number = true},
                                 {.name = "rows a step, max", .is_number = true},
                                 {.name = "max/mean", .is_number = true},
                                 {.name = "bytes a step", .is_number = true},
                                 {.name = "hit rate", .is_number = true},
                                 {.name = "ms a step", .is_number = true},
                                 {.name = "bound by"}},
                     .rows = {}};
  for (const CandidatePlan& one : candidates) {
    if (!one.refused.empty()) continue;
    table.rows.push_back({one.title + (one.is_configured ? " *" : ""), BytesText(one.memory.max),
                          fmt::format("{:.3f}", one.memory.max_over_mean()),
                          BytesText(one.cost.workers[0].memory_bytes), CountText(one.load.max),
                          fmt::format("{:.3f}", one.load.max_over_mean()),
                          BytesText(one.cost.wire_bytes), fmt::format("{:.3f}", one.cost.hit_rate),
                          Milliseconds(one.cost.ms),
                          std::string(BoundName(one.cost.bound)) +
                              (one.cost.is_oversubscribed ? ", too few cores" : "")});
  }
  return table;
}

// The tables that take most time of a step first.
std::vector<size_t> ByTime(const StepCost& cost) {
  std::vector<size_t> order(cost.tables.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t t) { return cost.tables[t].ms; });
  return order;
}

std::string TablesOfCandidates(const LabRun& run, const CandidatePlan& best) {
  TextTable table = {.columns = {{.name = "table"},
                                 {.name = "rows", .is_number = true},
                                 {.name = "rows a step", .is_number = true},
                                 {.name = "hit rate", .is_number = true},
                                 {.name = "bytes a step", .is_number = true},
                                 {.name = "ms a step", .is_number = true},
                                 {.name = "where"}},
                     .rows = {}};
  if (!best.tables.empty()) AddFormColumns(&table);
  const std::vector<size_t> order = ByTime(best.cost);
  for (const size_t t : order) {
    if (table.rows.size() == kShownTables) break;
    const TableSpec& spec = run.workload.tables.physical[t];
    const TableCost& cost = best.cost.tables[t];
    table.rows.push_back({spec.name, CountText(static_cast<double>(spec.rows)),
                          CountText(cost.rows_pulled), fmt::format("{:.3f}", cost.hit_rate),
                          BytesText(cost.bytes), Milliseconds(cost.ms),
                          PlacementText(run, best.plan, spec.id)});
    if (!best.tables.empty()) AddFormCells(best.tables[t], &table.rows.back());
  }
  std::string text =
      fmt::format("\nWhere {} puts the tables{}:\n\n{}", best.title,
                  best.method.empty() ? "" : ", found by " + best.method, TableAsText(table));
  if (order.size() > kShownTables) {
    text += fmt::format("and {} that take less time (--json has them)\n",
                        Counted(order.size() - kShownTables, "table"));
  }
  return text;
}

std::string GainsText(const CandidatePlan& from, std::span<const Gain> gains) {
  std::string text = fmt::format("\nWhat would help most, from {} at {} ms a step:\n\n", from.title,
                                 Milliseconds(from.cost.ms));
  TextTable table = {.columns = {{.name = "change"},
                                 {.name = "ms a step", .is_number = true},
                                 {.name = "saves", .is_number = true},
                                 {.name = "how"}},
                     .rows = {}};
  std::vector<std::string> losses, same;
  for (const Gain& gain : gains) {
    if (!gain.refused.empty()) continue;
    if (std::abs(gain.share) < kWorthSaying) {
      same.push_back(gain.what);
    } else if (gain.share < 0) {
      losses.push_back(fmt::format("{} (+{})", gain.what, PercentText(-gain.share)));
    } else {
      table.rows.push_back({gain.what, Milliseconds(gain.ms), PercentText(gain.share), gain.how});
    }
  }
  text += table.rows.empty() ? "nothing that was tried saves 1 % of it\n" : TableAsText(table);
  if (!same.empty()) text += fmt::format("no change (within 1 %): {}\n", fmt::join(same, ", "));
  if (!losses.empty()) text += fmt::format("slower: {}\n", fmt::join(losses, ", "));
  return text;
}

// ---- JSON ---------------------------------------------------------------------------------------

OrderedJson OverNodesToJson(const CandidatePlan::OverNodes& over) {
  return {{"max", over.max}, {"mean", over.mean}, {"max_over_mean", over.max_over_mean()}};
}

OrderedJson PhasesToJson(const StepPhases& phases) {
  OrderedJson json;
  ForEachPredictedPhase([&](const auto& phase) { json[phase.name] = phases.*phase.value; });
  return json;
}

OrderedJson RankToJson(const RankCost& rank) {
  return {{"rows_pulled", rank.rows_pulled},
          {"rows_pushed", rank.rows_pushed},
          {"accesses", rank.accesses},
          {"bytes_in", rank.bytes_in},
          {"bytes_out", rank.bytes_out},
          {"hit_rate", rank.hit_rate},
          {"memory_bytes", rank.memory_bytes},
          {"disk_bytes", rank.disk_bytes},
          {"busy_ms", rank.busy_ms}};
}

OrderedJson CandidateToJson(const LabRun& run, const CandidatePlan& one) {
  OrderedJson json = {{"name", one.name}};
  if (one.title != one.name) json["title"] = one.title;
  if (!one.refused.empty()) {
    json["refused"] = one.refused;
    return json;
  }
  json["ms"] = one.cost.ms;
  json["bound"] = BoundName(one.cost.bound);
  json["is_oversubscribed"] = one.cost.is_oversubscribed;
  json["phases"] = PhasesToJson(one.cost.phases);
  json["wire_bytes"] = one.cost.wire_bytes;
  json["hit_rate"] = one.cost.hit_rate;
  json["memory"] = OverNodesToJson(one.memory);
  json["memory_traffic"] = MemoryTrafficToJson(run, one);
  json["load"] = OverNodesToJson(one.load);
  json["ps"] = OrderedJson::array();
  for (const RankCost& node : one.cost.ps) json["ps"].push_back(RankToJson(node));
  json["worker"] =
      one.cost.workers.empty() ? OrderedJson(nullptr) : RankToJson(one.cost.workers[0]);
  return json;
}

OrderedJson TablesToJson(const LabRun& run, const CandidatePlan& best) {
  OrderedJson list = OrderedJson::array();
  for (size_t t = 0; t < best.cost.tables.size(); ++t) {
    const TableSpec& spec = run.workload.tables.physical[t];
    const TableCost& cost = best.cost.tables[t];
    OrderedJson one = {{"name", spec.name},
                       {"rows", spec.rows},
                       {"where", PlacementText(run, best.plan, spec.id)},
                       {"rows_pulled", cost.rows_pulled},
                       {"rows_pushed", cost.rows_pushed},
                       {"bytes", cost.bytes},
                       {"hit_rate", cost.hit_rate},
                       {"ms", cost.ms}};
    if (t < best.tables.size()) {
      const auto number = [](const std::optional<double>& value) {
        return value ? OrderedJson(*value) : OrderedJson(nullptr);
      };
      const TableDecision& decision = best.tables[t];
      one["strategy"] = decision.strategy;
      one["pieces"] = decision.pieces;
      one["pools_on_shards"] = decision.pools_on_shards;
      one["hot_rows"] = decision.hot_rows;
      one["cache_bytes"] = decision.cache_bytes;
      one["cache_share"] = number(decision.cache_share);
      one["ms_if_pulled"] = number(decision.rows_ms);
      one["ms_if_pooled"] = number(decision.bags_ms);
      one["ms_if_on_workers"] = number(decision.workers_ms);
    }
    list.push_back(std::move(one));
  }
  return list;
}

OrderedJson GainsToJson(std::span<const Gain> gains) {
  OrderedJson list = OrderedJson::array();
  for (const Gain& gain : gains) {
    OrderedJson one = {{"what", gain.what}, {"how", gain.how}};
    if (gain.refused.empty()) {
      one["ms"] = gain.ms;
      one["share"] = gain.share;
    } else {
      one["refused"] = gain.refused;
    }
    list.push_back(std::move(one));
  }
  return list;
}

}  // namespace

std::string RefusedText(std::span<const CandidatePlan> candidates) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const CandidatePlan& one : candidates) {
    if (one.refused.empty()) continue;
    const auto same =
        std::ranges::find(reasons, one.refused, [](const auto& r) { return r.first; });
    if (same == reasons.end()) {
      reasons.push_back({one.refused, {one.title}});
    } else {
      same->second.push_back(one.title);
    }
  }
  std::string text;
  for (const auto& [reason, names] : reasons) {
    text += fmt::format("refused: {}: {}\n", fmt::join(names, ", "), reason);
  }
  return text;
}

std::string CandidatesText(const LabRun& run, std::span<const CandidatePlan> candidates,
                           std::span<const Gain> gains) {
  std::string text = LabRunText(run) + "\n" + TableAsText(TableOfCandidates(candidates));
  const CandidatePlan* const best = BestOf(candidates);
  const CandidatePlan* const from = ConfiguredOf(candidates);
  if (from != nullptr && from->is_configured) text += "* as configured\n";
  text += RefusedText(candidates);
  if (best == nullptr) return text;
  if (best->cost.is_oversubscribed) {
    text += fmt::format("too few cores: about {:.0f} threads want {} at once; times are a guess\n",
                        best->cost.busy_threads,
                        Counted(run.cluster.cores_per_host > 0 ? run.cluster.cores_per_host
                                                               : run.machine.machine.cores,
                                "core"));
  }
  return text + TablesOfCandidates(run, *best) + MemoryTrafficText(run, *best) +
         GainsText(*from, gains);
}

// "8 tables of 5,845,231 rows, 13-64-16 and 64-1 MLPs, dot".
std::string ModelText(const LabRun& run) {
  const ModelSpec& model = run.settings.model;
  double rows = 0;
  for (const TableSpec& table : run.workload.tables.physical) {
    rows += static_cast<double>(table.rows);
  }
  return fmt::format("{} of {} rows together, MLPs of {} and {}, interaction {}",
                     Counted(run.workload.tables.physical.size(), "table"), CountText(rows),
                     fmt::join(model.bottom_mlp, "-"), fmt::join(model.top_mlp, "-"),
                     model.interaction);
}

OrderedJson LabRunToJson(const LabRun& run) {
  const ClusterShape& cluster = run.cluster;
  const Machine& machine = run.machine.machine;
  OrderedJson warnings = OrderedJson::array();
  for (std::string note : {NetworkNote(cluster), CachesNote(run)}) {
    if (!note.empty()) warnings.push_back(std::move(note));
  }
  return {{"cluster",
           {{"ps", cluster.ps},
            {"shards_per_ps", cluster.shards_per_ps},
            {"workers", cluster.workers},
            {"threads", cluster.threads},
            {"hosts", cluster.hosts},
            {"cores_per_host", cluster.cores_per_host > 0 ? cluster.cores_per_host : machine.cores},
            {"network_gbits",
             cluster.network_gbits > 0 ? OrderedJson(cluster.network_gbits) : OrderedJson(nullptr)},
            {"round_trip_us", cluster.round_trip_us > 0 ? OrderedJson(cluster.round_trip_us)
                                                        : OrderedJson(nullptr)}}},
          {"machine",
           {{"host", machine.host},
            {"cpu", machine.cpu},
            {"measured_at", machine.measured_at},
            {"calibration", run.machine.path},
            {"warning", run.machine.warning}}},
          {"samples", run.workload.step.samples},
          {"model", ModelText(run)},
          {"ids", run.ids},
          {"warnings", warnings}};
}

OrderedJson CandidatesToJson(const LabRun& run, std::span<const CandidatePlan> candidates,
                             std::span<const Gain> gains) {
  OrderedJson json = {{"rowhouse_lab", 1}};
  json.update(LabRunToJson(run));
  const CandidatePlan* const best = BestOf(candidates);
  const CandidatePlan* const from = ConfiguredOf(candidates);
  json["configured"] =
      from != nullptr && from->is_configured ? OrderedJson(from->name) : OrderedJson(nullptr);
  json["best"] = best != nullptr ? OrderedJson(best->name) : OrderedJson(nullptr);
  json["strategies"] = OrderedJson::array();
  for (const CandidatePlan& one : candidates)
    json["strategies"].push_back(CandidateToJson(run, one));
  json["tables"] = best != nullptr ? TablesToJson(run, *best) : OrderedJson::array();
  json["gains"] = GainsToJson(gains);
  return json;
}

}  // namespace rowhouse
