// What is printed of a trace, as text and as JSON.
#include "launch/plan/trace_summary_text.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "common/counted.h"
#include "launch/figures/figure_text.h"
#include "launch/plan/lab_page.h"

namespace rowhouse {
namespace {

std::string PercentOf(double share) { return fmt::format("{:.2f} %", 100.0 * share); }
std::string Ratio(double value) { return std::isnan(value) ? "-" : fmt::format("{:.2f}", value); }

// The miss ratio of a cache that holds `part` of the rows that were looked up.
std::string MissAt(const MissRatioCurve& curve, double part) {
  if (curve.points.empty()) return "-";
  return PercentOf(curve.MissRatio(std::max(1.0, part * curve.distinct_rows)));
}

TextTable TablesOf(const TraceSummary& summary) {
  TextTable text = {.columns = {{.name = "table"},
                                {.name = "rows", .is_number = true},
                                {.name = "lookups", .is_number = true},
                                {.name = "distinct", .is_number = true},
                                {.name = "reuse", .is_number = true},
                                {.name = "a step", .is_number = true},
                                {.name = "zipf", .is_number = true},
                                {.name = "hottest 1 %", .is_number = true},
                                {.name = "miss at 1 %", .is_number = true},
                                {.name = "10 %", .is_number = true},
                                {.name = "50 %", .is_number = true},
                                {.name = "first", .is_number = true}},
                    .rows = {}};
  const auto steps = static_cast<double>(std::max<uint64_t>(1, summary.steps));
  for (const TracedTable& table : summary.tables) {
    text.rows.push_back({table.name, CountText(static_cast<double>(table.rows)),
                         CountText(table.lookups), CountText(table.distinct_rows),
                         fmt::format("{:.1f}", table.reuse()), CountText(table.pulled_rows / steps),
                         Ratio(table.zipf_exponent), PercentOf(table.hottest_share),
                         MissAt(table.curve, 0.01), MissAt(table.curve, 0.1),
                         MissAt(table.curve, 0.5),
                         table.curve.points.empty() ? "-" : PercentOf(table.curve.cold_ratio())});
  }
  return text;
}

TextTable BagsOf(const TraceSummary& summary) {
  TextTable text = {.columns = {{.name = "feature"},
                                {.name = "bags", .is_number = true},
                                {.name = "lookups", .is_number = true},
                                {.name = "mean bag", .is_number = true},
                                {.name = "longest", .is_number = true},
                                {.name = "empty", .is_number = true}},
                    .rows = {}};
  for (const TracedFeature& feature : summary.features) {
    const BagFigures& bags = feature.bags;
    text.rows.push_back(
        {feature.name, CountText(static_cast<double>(bags.bags)),
         CountText(static_cast<double>(bags.lookups)), fmt::format("{:.2f}", bags.mean_bag()),
         CountText(static_cast<double>(bags.longest_bag)),
         bags.bags == 0
             ? "-"
             : PercentOf(static_cast<double>(bags.empty_bags) / static_cast<double>(bags.bags))});
  }
  return text;
}

nlohmann::ordered_json NumberOrNull(double value) {
  return std::isnan(value) ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(value);
}

nlohmann::ordered_json TracedTableToJson(const TracedTable& table) {
  return {{"name", table.name},
          {"rows", table.rows},
          {"sampled", table.sampled},
          {"lookups", table.lookups},
          {"distinct_rows", table.distinct_rows},
          {"reuse", table.reuse()},
          {"pulled_rows", table.pulled_rows},
          {"hottest_1_percent_share", table.hottest_share},
          {"zipf_exponent", NumberOrNull(table.zipf_exponent)},
          {"miss_ratio_curve", table.curve.ToJson()}};
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

nlohmann::ordered_json TraceSummaryPage(const TraceSummary& summary) {
  nlohmann::ordered_json warnings = nlohmann::ordered_json::array();
  if (const std::string note = NoLookupsText(summary); !note.empty()) warnings.push_back(note);
  return {{"title", "Trace of ids"},
          {"subtitle", fmt::format("{}: {}", summary.path, ExtentText(summary))},
          {"warnings", std::move(warnings)},
          {"curves", nlohmann::ordered_json::array({CurvesOf(summary)})},
          {"grids", nlohmann::ordered_json::array({PageGrid("Tables", "", TablesOf(summary)),
                                                   PageGrid("Features", "", BagsOf(summary))})}};
}

nlohmann::ordered_json TraceSummaryToJson(const TraceSummary& summary) {
  nlohmann::ordered_json tables = nlohmann::ordered_json::array();
  for (const TracedTable& table : summary.tables) tables.push_back(TracedTableToJson(table));
  nlohmann::ordered_json features = nlohmann::ordered_json::array();
  for (const TracedFeature& feature : summary.features) {
    features.push_back({{"name", feature.name},
                        {"bags", feature.bags.bags},
                        {"lookups", feature.bags.lookups},
                        {"mean_bag", feature.bags.mean_bag()},
                        {"longest_bag", feature.bags.longest_bag},
                        {"empty_bags", feature.bags.empty_bags}});
  }
  return {{"trace", summary.path},
          {"form", summary.form},
          {"samples", summary.samples},
          {"steps", summary.steps},
          {"step_samples", summary.step_samples},
          {"without_lookups", WithoutLookups(summary)},
          {"tables", std::move(tables)},
          {"features", std::move(features)}};
}

std::string TraceSummaryText(const TraceSummary& summary) {
  double error = 0.0, sampled = 1.0;
  for (const TracedTable& table : summary.tables) {
    error = std::max(error, table.curve.error());
    sampled = std::min(sampled, table.sampled);
  }
  std::string text =
      fmt::format("{}: {} form, {}\n", summary.path, summary.form, ExtentText(summary));
  if (const std::string note = NoLookupsText(summary); !note.empty()) {
    text += fmt::format("warning: {}\n", note);
  }
  if (sampled < 1.0) {
    text +=
        fmt::format("tables are sampled, down to {} of their ids; figures are scaled, but zipf\n",
                    PercentOf(sampled));
  }
  if (summary.steps == 1) {
    text +=
        "all samples are in one step, which asks for a row once: no cache has it; "
        "--mini_batch_size=N makes steps smaller\n";
  }
  text += "\n" + TableAsText(TablesOf(summary));
  text +=
      "\na step: distinct rows of one; reuse: lookups of a distinct row; zipf: exponent fitted to "
      "the\nhottest rows; miss: of an LRU cache that holds so much of the distinct rows, asked "
      "once "
      "a step for\neach row; first: misses of any cache, as a row is new";
  text += error > 0.0 ? fmt::format("; miss ratios are within {:.3f} in the mean\n\n", error)
                      : std::string("\n\n");
  return text + TableAsText(BagsOf(summary));
}

}  // namespace rowhouse
