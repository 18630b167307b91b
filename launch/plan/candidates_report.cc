#include "launch/plan/candidates_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "common/counted.h"
#include "launch/figures/figure_text.h"
#include "launch/figures/json_members.h"
#include "launch/prediction/auto_plan.h"
#include "sharding/lab/cost/memory_traffic.h"
#include "sharding/plans/strategy.h"

namespace rowhouse {
namespace {

using OrderedJson = nlohmann::ordered_json;

// A smaller change of the time is within what predictions err.
constexpr double kWorthSaying = 0.01;

std::string Milliseconds(double ms) { return fmt::format("{:.{}f}", ms, ms < 10 ? 3 : 2); }

// The tables with the most of a figure first.
std::vector<size_t> TablesByFalling(const StepCost& cost, double TableCost::*figure) {
  std::vector<size_t> order(cost.tables.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t t) { return cost.tables[t].*figure; });
  return order;
}

// ---- Memory traffic -----------------------------------------------------------------------------

// What a plan's rows ask of memory.
struct MemoryOfPlan {
  MemoryTraffic traffic;
  double gbs = 0;      // of a host
  double busiest = 0;  // bytes of the host that moves most
  double least_ms = 0;
};

MemoryOfPlan MemoryOf(const LabRun& run, const CandidatePlan& candidate) {
  const CpuMemory memory = CpuMemoryOf(run.machine.machine);
  MemoryOfPlan of{.traffic = MemoryTrafficOf(run.workload, candidate.plan, memory),
                  .gbs = memory.dram_gbs};
  of.busiest = BytesOfBusiestHost(of.traffic, run.cluster);
  of.least_ms = of.busiest / of.gbs / 1e6;
  return of;
}

std::string MemoryTrafficText(const LabRun& run, const CandidatePlan& candidate) {
  const MemoryOfPlan of = MemoryOf(run, candidate);
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

OrderedJson MemoryTrafficToJson(const LabRun& run, const CandidatePlan& candidate) {
  const MemoryOfPlan of = MemoryOf(run, candidate);
  return {{"pull_bytes", of.traffic.pull},
          {"pool_bytes", of.traffic.pool},
          {"update_bytes", of.traffic.update},
          {"sum_bytes", of.traffic.sum},
          {"bytes", of.traffic.total()},
          {"busiest_host_bytes", of.busiest},
          {"dram_gbs", of.gbs},
          {"least_ms", of.least_ms}};
}

// ---- Tables for people --------------------------------------------------------------------------

FigureTable TableOfCandidates(std::span<const CandidatePlan> candidates) {
  FigureTable table{
      .title = "Plans, by predicted time of a step",
      .note =
          "*: as configured. Largest: of the PS nodes. Rows are those that PS nodes give in a "
          "step, those of one worker merged. +bags: shards pool. auto: the planner's own plan",
      .columns = {{.title = "strategy"},
                  {.title = "memory, max", .text = BytesText},
                  {.title = "max/mean", .text = FixedText<3>},
                  {.title = "on a worker", .text = BytesText},
                  {.title = "rows a step, max", .text = CountText},
                  {.title = "max/mean", .text = FixedText<3>},
                  {.title = "bytes a step", .text = BytesText},
                  {.title = "hit rate", .text = FixedText<3>},
                  {.title = "ms a step", .text = Milliseconds},
                  {.title = "bound by"}}};
  for (const CandidatePlan& one : candidates) {
    if (!one.refused.empty()) continue;
    table.rows.push_back({one.title + (one.is_configured ? " *" : ""), one.memory.max,
                          one.memory.max_over_mean(), one.cost.workers[0].memory_bytes,
                          one.load.max, one.load.max_over_mean(), one.cost.wire_bytes,
                          one.cost.hit_rate, one.cost.ms,
                          std::string(BoundName(one.cost.bound)) +
                              (one.cost.is_oversubscribed ? ", too few cores" : "")});
  }
  return table;
}

// Those that take most time of a step first.
FigureTable TableOfTables(const LabRun& run, const CandidatePlan& best) {
  FigureTable table{.title = fmt::format("Where {} puts the tables", best.title),
                    .columns = {{.title = "table"},
                                {.title = "rows", .text = CountText},
                                {.title = "rows a step", .text = CountText},
                                {.title = "hit rate", .text = FixedText<3>},
                                {.title = "bytes a step", .text = BytesText},
                                {.title = "ms a step", .text = Milliseconds},
                                {.title = "where"}},
                    .max_text_rows = 16,
                    .others_are = " that take less time; --json has all"};
  if (!best.tables.empty()) AddFormColumns(&table);
  for (const size_t t : TablesByFalling(best.cost, &TableCost::ms)) {
    const TableSpec& spec = run.workload.tables.physical[t];
    const TableCost& cost = best.cost.tables[t];
    table.rows.push_back({spec.name, spec.rows, cost.rows_pulled, cost.hit_rate, cost.bytes,
                          cost.ms, PlacementText(run, best.plan, spec.id)});
    if (!best.tables.empty()) AddFormCells(best.tables[t], &table.rows.back());
  }
  return table;
}

void AddSavings(const CandidatePlan& from, std::span<const Saving> savings, Figures* figures) {
  figures->Say("\nWhat would help most, from {} at {} ms a step:\n\n", from.title,
               Milliseconds(from.cost.ms));
  FigureTable table{.title = "What would help most",
                    .columns = {{.title = "change"},
                                {.title = "ms a step", .text = Milliseconds},
                                {.title = "saves", .text = PercentText},
                                {.title = "how"}}};
  std::vector<std::string> losses, same;
  for (const Saving& saving : savings) {
    if (!saving.refused.empty()) continue;
    if (std::abs(saving.share) < kWorthSaying) {
      same.push_back(saving.what);
    } else if (saving.share < 0) {
      losses.push_back(fmt::format("{} (+{})", saving.what, PercentText(-saving.share)));
    } else {
      table.rows.push_back({saving.what, saving.ms, saving.share, saving.how});
    }
  }
  if (table.rows.empty()) {
    figures->Append("nothing that was tried saves 1 % of it\n");
  } else {
    figures->Add(std::move(table));
  }
  if (!same.empty()) figures->Say("no change (within 1 %): {}\n", fmt::join(same, ", "));
  if (!losses.empty()) figures->Say("slower: {}\n", fmt::join(losses, ", "));
}

// ---- JSON ---------------------------------------------------------------------------------------

OrderedJson OverNodesToJson(const CandidatePlan::OverNodes& over) {
  return {{"max", over.max}, {"mean", over.mean}, {"max_over_mean", over.max_over_mean()}};
}

OrderedJson RankToJson(const RankCost& rank) {
  return MEMBERS_AS_JSON(rank, rows_pulled, rows_pushed, accesses, bytes_in, bytes_out, hit_rate,
                         memory_bytes, disk_bytes, busy_ms);
}

OrderedJson CandidateToJson(const LabRun& run, const CandidatePlan& one) {
  OrderedJson json = {{"name", one.name}};
  if (one.title != one.name) json["title"] = one.title;
  if (!one.refused.empty()) {
    json["refused"] = one.refused;
    return json;
  }
  json.update(MEMBERS_AS_JSON(one.cost, ms, is_oversubscribed, wire_bytes, hit_rate));
  json["bound"] = BoundName(one.cost.bound);
  json["phases"] = PhasesToJson(one.cost.phases);
  json["memory"] = OverNodesToJson(one.memory);
  json["memory_traffic"] = MemoryTrafficToJson(run, one);
  json["load"] = OverNodesToJson(one.load);
  json["ps"] = ListAsJson(one.cost.ps, RankToJson);
  json["worker"] =
      one.cost.workers.empty() ? OrderedJson(nullptr) : RankToJson(one.cost.workers[0]);
  return json;
}

OrderedJson TablesToJson(const LabRun& run, const CandidatePlan& best) {
  OrderedJson list = OrderedJson::array();
  for (size_t t = 0; t < best.cost.tables.size(); ++t) {
    const TableSpec& spec = run.workload.tables.physical[t];
    OrderedJson one = MEMBERS_AS_JSON(spec, name, rows);
    one["where"] = PlacementText(run, best.plan, spec.id);
    one.update(MEMBERS_AS_JSON(best.cost.tables[t], rows_pulled, rows_pushed, bytes, hit_rate, ms));
    if (t < best.tables.size()) {
      const TableDecision& decision = best.tables[t];
      one.update(MEMBERS_AS_JSON(decision, strategy, pieces, pools_on_shards, hot_rows, cache_bytes,
                                 cache_share));
      one["ms_if_pulled"] = FigureOrNull(decision.rows_ms);
      one["ms_if_pooled"] = FigureOrNull(decision.bags_ms);
      one["ms_if_on_workers"] = FigureOrNull(decision.workers_ms);
    }
    list.push_back(std::move(one));
  }
  return list;
}

OrderedJson SavingToJson(const Saving& saving) {
  OrderedJson json = MEMBERS_AS_JSON(saving, what, how);
  json.update(saving.refused.empty() ? MEMBERS_AS_JSON(saving, ms, share)
                                     : MEMBERS_AS_JSON(saving, refused));
  return json;
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

// "8 tables of 5,845,231 rows together, MLPs of 13-64-16 and 64-1, interaction dot".
static std::string ModelText(const LabRun& run) {
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

OrderedJson PhasesToJson(const StepPhases& phases) {
  OrderedJson json;
  ForEachPredictedPhase([&](const auto& phase) { json[phase.name] = phases.*phase.value; });
  return json;
}

OrderedJson LabRunToJson(const LabRun& run) {
  const ClusterShape& shape = run.cluster;
  const Machine& machine = run.machine.machine;
  const auto given = [](double figure) { return figure > 0 ? OrderedJson(figure) : OrderedJson(); };
  OrderedJson cluster = MEMBERS_AS_JSON(shape, ps, shards_per_ps, workers, threads, hosts);
  cluster["cores_per_host"] = shape.cores_per_host > 0 ? shape.cores_per_host : machine.cores;
  cluster["network_gbits"] = given(shape.network_gbits);
  cluster["round_trip_us"] = given(shape.round_trip_us);
  OrderedJson of_machine = MEMBERS_AS_JSON(machine, host, cpu, measured_at);
  of_machine["calibration"] = run.machine.path;
  of_machine["warning"] = run.machine.warning;
  OrderedJson warnings = OrderedJson::array();
  for (std::string note : {NetworkNote(shape), CachesNote(run)}) {
    if (!note.empty()) warnings.push_back(std::move(note));
  }
  return {{"cluster", std::move(cluster)},
          {"machine", std::move(of_machine)},
          {"samples", run.workload.step.samples},
          {"model", ModelText(run)},
          {"ids", run.ids},
          {"warnings", std::move(warnings)}};
}

Figures CandidateFigures(const LabRun& run, std::span<const CandidatePlan> candidates,
                         std::span<const Saving> savings) {
  const CandidatePlan* const best = BestOf(candidates);
  const CandidatePlan* const from = ConfiguredOf(candidates);
  const bool has_configured = from != nullptr && from->is_configured;
  Figures figures{.title = "Plans compared", .json = {{"rowhouse_lab", 1}}};
  figures.json.update(LabRunToJson(run));
  figures.json["configured"] = has_configured ? OrderedJson(from->name) : OrderedJson(nullptr);
  figures.json["best"] = best != nullptr ? OrderedJson(best->name) : OrderedJson(nullptr);
  figures.json["strategies"] =
      ListAsJson(candidates, [&](const CandidatePlan& one) { return CandidateToJson(run, one); });
  figures.page = figures.json;
  figures.json["tables"] = best != nullptr ? TablesToJson(run, *best) : OrderedJson::array();
  figures.json["gains"] = ListAsJson(savings, SavingToJson);

  figures.Append(LabRunText(run) + "\n");
  figures.Add(TableOfCandidates(candidates));
  if (has_configured) figures.Append("* as configured\n");
  figures.Append(RefusedText(candidates));
  FigureTable refused{
      .title = "Refused", .columns = {{.title = "strategy"}, {.title = "why"}}, .max_text_rows = 0};
  for (const CandidatePlan& one : candidates) {
    if (!one.refused.empty()) refused.rows.push_back({one.title, one.refused});
  }
  if (!refused.rows.empty()) figures.Add(std::move(refused));
  if (best == nullptr) return figures;
  figures.subtitle =
      fmt::format("Fastest by prediction: {}, {:.3g} ms a step", best->title, best->cost.ms);
  if (best->cost.is_oversubscribed) {
    figures.Say("too few cores: about {:.0f} threads want {} at once; times are a guess\n",
                best->cost.busy_threads,
                Counted(run.cluster.cores_per_host > 0 ? run.cluster.cores_per_host
                                                       : run.machine.machine.cores,
                        "core"));
  }
  figures.Say("\nWhere {} puts the tables{}:\n\n", best->title,
              best->method.empty() ? "" : ", found by " + best->method);
  figures.Add(TableOfTables(run, *best));
  figures.Append(MemoryTrafficText(run, *best));
  AddSavings(*from, savings, &figures);
  return figures;
}

// ---- Charts -------------------------------------------------------------------------------------

namespace {

constexpr size_t kMaxChartTables = 8;  // as many as there are colours
constexpr uint32_t kMaxChartNodes = 64;

std::vector<size_t> BusiestTables(const StepCost& cost) {
  std::vector<size_t> order = TablesByFalling(cost, &TableCost::rows_pulled);
  if (order.size() > kMaxChartTables) order.resize(kMaxChartTables);
  return order;
}

// The run as if only one table were looked up.
Workload OnlyTable(const Workload& workload, size_t table) {
  Workload alone = workload;
  for (size_t t = 0; t < alone.lookups.size(); ++t) {
    if (t != table) alone.lookups[t] = 0;
  }
  return alone;
}

OrderedJson RowsByNode(const StepCost& cost, size_t nodes) {
  OrderedJson rows = OrderedJson::array();
  for (size_t n = 0; n < nodes; ++n) rows.push_back(cost.ps[n].rows_pulled);
  return rows;
}

}  // namespace

Result<OrderedJson> LoadsByTable(const LabRun& run, const CandidatePlan& candidate) {
  const size_t nodes = std::min<size_t>(candidate.cost.ps.size(), kMaxChartNodes);
  std::vector<double> others(nodes);
  for (size_t n = 0; n < nodes; ++n) others[n] = candidate.cost.ps[n].rows_pulled;
  OrderedJson tables = OrderedJson::array();
  for (const size_t t : BusiestTables(candidate.cost)) {
    ASSIGN_OR_RETURN(const StepCost alone, PredictStep(OnlyTable(run.workload, t), candidate.plan,
                                                       run.cluster, run.machine.machine));
    for (size_t n = 0; n < nodes; ++n) others[n] -= alone.ps[n].rows_pulled;
    tables.push_back(
        {{"name", run.workload.tables.physical[t].name}, {"rows", RowsByNode(alone, nodes)}});
  }
  if (candidate.cost.tables.size() > kMaxChartTables) {
    for (double& rows : others) rows = std::max(rows, 0.0);
    tables.push_back({{"name", "others"}, {"rows", others}});
  }
  OrderedJson names = OrderedJson::array();
  for (size_t n = 0; n < nodes; ++n) names.push_back(fmt::format("PS node {}", n));
  return OrderedJson{{"plan", candidate.title},
                     {"of_nodes", candidate.cost.ps.size()},
                     {"nodes", std::move(names)},
                     {"tables", std::move(tables)}};
}

OrderedJson MissRatioCurves(const LabRun& run, const CandidatePlan& candidate) {
  const Workload& workload = run.workload;
  const double samples =
      static_cast<double>(workload.step.samples) / std::max(1u, workload.step.workers);
  OrderedJson series = OrderedJson::array();
  bool is_any_traced = false;
  for (const size_t t : BusiestTables(candidate.cost)) {
    const TableSpec& table = workload.tables.physical[t];
    const bool is_traced = !workload.lru_miss_ratio.empty() && workload.lru_miss_ratio[t];
    is_any_traced |= is_traced;
    const double lookups = workload.lookups[t] * samples;
    if (lookups <= 0) continue;
    const auto record = static_cast<double>(RecordBytes(table));
    OrderedJson points = OrderedJson::array();
    constexpr int kPoints = 24;
    const double first = std::min(16.0, static_cast<double>(table.rows));
    const double factor = std::pow(static_cast<double>(table.rows) / first, 1.0 / (kPoints - 1));
    double slots = first;
    for (int i = 0; i < kPoints; ++i, slots *= factor) {
      const double misses =
          is_traced ? workload.lru_miss_ratio[t](slots)
                    : 1 - workload.of_table[t].HitRate(slots, lookups, workload.storage.keeps);
      points.push_back({slots * record, misses});
      if (factor <= 1) break;
    }
    series.push_back({{"name", table.name}, {"points", std::move(points)}});
  }
  return {
      {"title", "Misses by cache size"},
      {"note", is_any_traced ? std::string("of an LRU cache, as traced; of distinct rows of a step")
                             : std::string("by the model; of distinct rows of a step")},
      {"x", "cache of the table"},
      {"y", "miss ratio"},
      {"x_is", "bytes"},
      {"y_is", "share"},
      {"series", std::move(series)}};
}

}  // namespace rowhouse
