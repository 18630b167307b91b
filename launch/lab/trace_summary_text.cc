// What is printed of a trace, as text and as JSON.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "launch/lab/trace_summary.h"
#include "launch/report/figure_text.h"
#include "launch/report/text_table.h"

namespace rowhouse {
namespace {

std::string Percent(double share) { return fmt::format("{:.2f} %", 100.0 * share); }
std::string Ratio(double value) { return std::isnan(value) ? "-" : fmt::format("{:.2f}", value); }

// The miss ratio of a cache that holds `part` of the rows that were looked up.
std::string MissAt(const MissRatioCurve& curve, double part) {
  if (curve.points.empty()) return "-";
  return Percent(curve.MissRatio(std::max(1.0, part * curve.distinct_rows)));
}

std::string TablesText(const TraceSummary& summary) {
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
                         Ratio(table.zipf_exponent), Percent(table.hottest_share),
                         MissAt(table.curve, 0.01), MissAt(table.curve, 0.1),
                         MissAt(table.curve, 0.5),
                         table.curve.points.empty() ? "-" : Percent(table.curve.cold_ratio())});
  }
  return TableAsText(text);
}

std::string BagsText(const TraceSummary& summary) {
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
             : Percent(static_cast<double>(bags.empty_bags) / static_cast<double>(bags.bags))});
  }
  return TableAsText(text);
}

nlohmann::ordered_json NumberOrNull(double value) {
  return std::isnan(value) ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(value);
}

nlohmann::ordered_json TableToJson(const TracedTable& table) {
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

}  // namespace

nlohmann::ordered_json TraceSummaryToJson(const TraceSummary& summary) {
  nlohmann::ordered_json tables = nlohmann::ordered_json::array();
  for (const TracedTable& table : summary.tables) tables.push_back(TableToJson(table));
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
          {"tables", std::move(tables)},
          {"features", std::move(features)}};
}

std::string TraceSummaryText(const TraceSummary& summary) {
  double error = 0.0, sampled = 1.0;
  for (const TracedTable& table : summary.tables) {
    error = std::max(error, table.curve.error());
    sampled = std::min(sampled, table.sampled);
  }
  std::string text = fmt::format("{}: {} form, {} samples in {} steps of {}\n", summary.path,
                                 summary.form, CountText(static_cast<double>(summary.samples)),
                                 CountText(static_cast<double>(summary.steps)),
                                 CountText(static_cast<double>(summary.step_samples)));
  if (sampled < 1.0) {
    text += fmt::format("tables are sampled, down to {} of their ids; figures are scaled\n",
                        Percent(sampled));
  }
  text += "\n" + TablesText(summary);
  text +=
      "\na step: distinct rows of one; reuse: lookups of a distinct row; zipf: exponent fitted to "
      "the\nhottest rows; miss: of an LRU cache that holds so much of the distinct rows, asked "
      "once "
      "a step for\neach row; first: misses of any cache, as a row is new";
  text += error > 0.0 ? fmt::format("; miss ratios are within {:.3f} in the mean\n\n", error)
                      : std::string("\n\n");
  return text + BagsText(summary);
}

}  // namespace rowhouse
