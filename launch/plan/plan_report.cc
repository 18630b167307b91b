#include "launch/plan/plan_report.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "common/counted.h"
#include "launch/figures/figure_text.h"
#include "launch/figures/json_members.h"
#include "sharding/plans/plan_load.h"

namespace rowhouse {
namespace {

std::string Percent(double part, double whole) {
  return whole > 0.0 ? fmt::format("{:.2f} %", 100.0 * part / whole) : "-";
}

using LoadFigure = double (*)(const ShardLoad&);

// By shard and, if PS nodes have several, by PS node.
std::string Balance(const PlanFile& file, const PlanLoad& load, LoadFigure figure) {
  std::vector<double> shards, nodes(file.ps);
  for (size_t s = 0; s < load.shards.size(); ++s) {
    shards.push_back(figure(load.shards[s]));
    nodes[s / file.shards_per_ps] += shards.back();
  }
  std::string text = fmt::format("{:.3f}", MaxOverMean(shards));
  if (file.shards_per_ps > 1) text += fmt::format(" (of PS nodes {:.3f})", MaxOverMean(nodes));
  return text;
}

std::string OnWorkersText(const PlanFile& file, const std::vector<TableSpec>& tables,
                          const PlanLoad& load, double all) {
  std::vector<std::string> whole, single;
  for (const TableSpec& table : tables) {
    const size_t rows = file.plan.worker_rows(table.id).size();
    if (file.plan.is_on_workers(table.id)) whole.push_back(table.name);
    if (rows > 0) single.push_back(fmt::format("{} of {}", rows, table.name));
  }
  if (whole.empty() && single.empty()) return "on the workers: nothing\n";
  std::string text = fmt::format("on each worker: {}", BytesText(load.workers.bytes));
  if (all > 0.0) text += fmt::format(", {} of accesses", Percent(load.workers.accesses, all));
  if (!whole.empty()) text += fmt::format("; tables {}", fmt::join(whole, ", "));
  if (!single.empty()) text += fmt::format("; single rows: {}", fmt::join(single, ", "));
  return text + "\n";
}

// "" if the plan says nothing of caches.
std::string CacheSharesText(const PlanFile& file, const std::vector<TableSpec>& tables) {
  std::vector<std::string> shares;
  for (const TableSpec& table : tables) {
    const std::optional<double> share = file.plan.cache_share(table.id);
    if (share) shares.push_back(fmt::format("{} {:.4g}", table.name, *share));
  }
  if (shares.empty()) return "";
  return fmt::format("of each shard's cache, at first: {}\n", fmt::join(shares, ", "));
}

// The share of a table's lookups that its `part` hottest rows have; with "> " if not all of these
// rows were counted one by one.
std::string ShareOfTop(const TableAccesses& table, double part) {
  const auto top =
      std::max<uint64_t>(1, static_cast<uint64_t>(part * static_cast<double>(table.rows)));
  std::vector<uint64_t> counts;
  if (table.range_rows == 1) {
    counts = table.ranges;
    std::ranges::sort(counts, std::greater<>());
  } else {
    for (const TableAccesses::Row& row : table.hottest) counts.push_back(row.count);
  }
  const bool is_known = counts.size() >= top || counts.size() < AccessCounter::kHottestRows;
  counts.resize(std::min<uint64_t>(counts.size(), top));
  double sum = 0.0;
  for (const uint64_t count : counts) sum += static_cast<double>(count);
  return (is_known ? "" : "> ") + Percent(sum, static_cast<double>(table.total()));
}

}  // namespace

std::string PlanText(const PlanFile& file, const std::vector<TableSpec>& tables,
                     const AccessCounts* accesses) {
  const PlanLoad load = LoadOf(tables, file.plan, accesses);
  double all = load.workers.accesses, bytes = 0.0;
  for (const ShardLoad& shard : load.shards) {
    all += shard.accesses;
    bytes += shard.bytes;
  }
  FigureTable table{.columns = {{.title = "PS node", .text = FixedText<0>},
                                {.title = "shard", .text = FixedText<0>},
                                {.title = "bytes", .text = BytesText},
                                {.title = "rows", .text = CountText},
                                {.title = "slices", .text = CountText},
                                {.title = "accesses", .text = CountText}}};
  for (size_t s = 0; s < load.shards.size(); ++s) {
    const ShardLoad& shard = load.shards[s];
    table.rows.push_back({s / file.shards_per_ps, s, shard.bytes, shard.rows, shard.slices,
                          accesses == nullptr ? "-" : Percent(shard.accesses, all)});
  }
  std::string text =
      fmt::format("{}: {} on {} of {}; {} of rows, state and trailers\n\n", file.strategy,
                  Counted(tables.size(), "table"), Counted(file.ps, "PS node"),
                  Counted(file.shards_per_ps, "shard"), BytesText(bytes));
  text += TableAsText(table);
  text += fmt::format("\nmax/mean: bytes {}, rows {}",
                      Balance(file, load, [](const ShardLoad& s) { return s.bytes; }),
                      Balance(file, load, [](const ShardLoad& s) { return s.rows; }));
  if (accesses != nullptr) {
    text += fmt::format(", accesses {}",
                        Balance(file, load, [](const ShardLoad& s) { return s.accesses; }));
  }
  return text + "\n" + OnWorkersText(file, tables, load, all) + CacheSharesText(file, tables);
}

std::string IdCountsText(const IdCounts& counts) {
  constexpr size_t kShown = 3;
  FigureTable table{.columns = {{.title = "table"},
                                {.title = "rows", .text = CountText},
                                {.title = "lookups", .text = CountText},
                                {.title = "rows touched", .text = CountText},
                                {.title = "rows pulled", .text = CountText},
                                {.title = "top 1 %", .text = CountText},
                                {.title = "top 0.1 %", .text = CountText},
                                {.title = "hottest rows"}}};
  for (size_t t = 0; t < counts.counts.tables.size(); ++t) {
    const TableAccesses& one = counts.counts.tables[t];
    const auto total = static_cast<double>(one.total());
    std::vector<std::string> hottest;
    for (size_t i = 0; i < std::min(kShown, one.hottest.size()); ++i) {
      hottest.push_back(fmt::format("{} ({})", one.hottest[i].row,
                                    Percent(static_cast<double>(one.hottest[i].count), total)));
    }
    table.rows.push_back({one.name, one.rows, one.total(), counts.rows_touched[t],
                          counts.rows_pulled[t], ShareOfTop(one, 0.01), ShareOfTop(one, 0.001),
                          fmt::format("{}", fmt::join(hottest, " "))});
  }
  return fmt::format("{} samples\n\n", CountText(static_cast<double>(counts.samples))) +
         TableAsText(table);
}

// ---- Traces -------------------------------------------------------------------------------------

namespace {

std::string PercentOf(double share) {
  return std::isnan(share) ? "-" : fmt::format("{:.2f} %", 100.0 * share);
}

// The miss ratio of a cache that holds `part` of the rows that were looked up; 0: of any cache.
double MissAt(const MissRatioCurve& curve, double part) {
  if (curve.points.empty()) return NAN;
  return part > 0 ? curve.MissRatio(std::max(1.0, part * curve.distinct_rows)) : curve.cold_ratio();
}

FigureTable TablesOf(const TraceSummary& summary) {
  FigureTable table{.key = "tables",
                    .title = "Tables",
                    .columns = {{"name", "table"},
                                {"rows", "rows", CountText},
                                {"sampled"},
                                {"lookups", "lookups", CountText},
                                {"distinct_rows", "distinct", CountText},
                                {"reuse", "reuse", FixedText<1>},
                                {"pulled_rows"},
                                {"", "a step", CountText},
                                {"zipf_exponent", "zipf", FixedText<2>},
                                {"hottest_1_percent_share", "hottest 1 %", PercentOf},
                                {"", "miss at 1 %", PercentOf},
                                {"", "10 %", PercentOf},
                                {"", "50 %", PercentOf},
                                {"", "first", PercentOf},
                                {"miss_ratio_curve"}},
                    .max_page_rows = SIZE_MAX};
  const auto steps = static_cast<double>(std::max<uint64_t>(1, summary.steps));
  for (const TracedTable& one : summary.tables) {
    table.rows.push_back({one.name, one.rows, one.sampled, one.lookups, one.distinct_rows,
                          one.reuse(), one.pulled_rows, one.pulled_rows / steps,
                          FigureOrNull(one.zipf_exponent), one.hottest_share,
                          MissAt(one.curve, 0.01), MissAt(one.curve, 0.1), MissAt(one.curve, 0.5),
                          MissAt(one.curve, 0), one.curve.ToJson()});
  }
  return table;
}

FigureTable BagsOf(const TraceSummary& summary) {
  FigureTable table{.key = "features",
                    .title = "Features",
                    .columns = {{"name", "feature"},
                                {"bags", "bags", CountText},
                                {"lookups", "lookups", CountText},
                                {"mean_bag", "mean bag", FixedText<2>},
                                {"longest_bag", "longest", CountText},
                                {"empty_bags"},
                                {"", "empty", PercentOf}},
                    .max_page_rows = SIZE_MAX};
  for (const TracedFeature& feature : summary.features) {
    const BagFigures& bags = feature.bags;
    table.rows.push_back({feature.name, bags.bags, bags.lookups, bags.mean_bag(), bags.longest_bag,
                          bags.empty_bags,
                          static_cast<double>(bags.empty_bags) / static_cast<double>(bags.bags)});
  }
  return table;
}

// Of the tables with the most accesses.
nlohmann::ordered_json CurvesOf(const TraceSummary& summary) {
  constexpr size_t kMax = 10;
  std::vector<const TracedTable*> tables;
  for (const TracedTable& table : summary.tables) {
    if (!table.curve.points.empty()) tables.push_back(&table);
  }
  std::ranges::stable_sort(tables, std::greater<>(), &TracedTable::pulled_rows);
  nlohmann::ordered_json series = nlohmann::ordered_json::array();
  for (size_t t = 0; t < std::min(kMax, tables.size()); ++t) {
    nlohmann::ordered_json points = nlohmann::ordered_json::array();
    for (const MissRatioCurve::Point& point : tables[t]->curve.points) {
      if (point.rows > 0) points.push_back({point.rows, point.miss_ratio});
    }
    series.push_back({{"name", tables[t]->name}, {"points", std::move(points)}});
  }
  return {{"title", "Misses by cache size"},
          {"note",
           "of an LRU cache that is asked once a step for each distinct row; of the tables "
           "with the most accesses"},
          {"x", "rows of the cache"},
          {"y", "miss ratio"},
          {"x_is", "count"},
          {"y_is", "share"},
          {"series", std::move(series)}};
}

// "12,800 samples in 200 steps of 64".
std::string ExtentText(const TraceSummary& summary) {
  const auto counted = [](uint64_t number, const char* what) {
    return fmt::format("{} {}{}", CountText(static_cast<double>(number)), what,
                       number == 1 ? "" : "s");
  };
  return fmt::format("{} in {} of {}", counted(summary.samples, "sample"),
                     counted(summary.steps, "step"),
                     CountText(static_cast<double>(summary.step_samples)));
}

}  // namespace

Figures TraceFigures(const TraceSummary& summary) {
  double error = 0.0, sampled = 1.0;
  for (const TracedTable& table : summary.tables) {
    error = std::max(error, table.curve.error());
    sampled = std::min(sampled, table.sampled);
  }
  Figures figures{.title = "Trace of ids",
                  .subtitle = fmt::format("{}: {}", summary.path, ExtentText(summary)),
                  .json = MEMBERS_AS_JSON(summary, form, samples, steps, step_samples)};
  figures.json["trace"] = summary.path;
  figures.json["without_lookups"] = WithoutLookups(summary);
  figures.page["curves"] = {CurvesOf(summary)};
  figures.Say("{}: {} form, {}\n", summary.path, summary.form, ExtentText(summary));
  if (const std::string note = NoLookupsText(summary); !note.empty()) {
    figures.page["warnings"] = {note};
    figures.Say("warning: {}\n", note);
  }
  if (sampled < 1.0) {
    figures.Say("tables are sampled, down to {} of their ids; figures are scaled, but zipf\n",
                PercentOf(sampled));
  }
  if (summary.steps == 1) {
    figures.Append(
        "all samples are in one step, which asks for a row once: no cache has it; "
        "--mini_batch_size=N makes steps smaller\n");
  }
  figures.Append("\n");
  figures.Add(TablesOf(summary));
  figures.Append(
      "\na step: distinct rows of one; reuse: lookups of a distinct row; zipf: exponent fitted to "
      "the\nhottest rows; miss: share of rows that an LRU cache with this part of the "
      "distinct rows\nmisses, asked once a step for each; first: misses of any cache, as a row is "
      "new");
  if (error > 0.0) figures.Say("; miss ratios are within {:.3f} in the mean", error);
  figures.Append("\n\n");
  figures.Add(BagsOf(summary));
  return figures;
}

}  // namespace rowhouse
