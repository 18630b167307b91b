#include "launch/prediction/traffic_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "launch/figures/figure_text.h"
#include "launch/figures/json_members.h"

namespace rowhouse {
namespace {

// A smaller saving is no reason to pool elsewhere: without access counts the estimate takes the ids
// of files as evenly spread, and real data has fewer merged rows.
constexpr double kWorthSaying = 0.5;

const std::string& NameOf(const EmbeddingTables& tables, const TableTraffic& table) {
  return tables.physical[Raw(table.table)].name;
}

// "5 tables (a, b, c, ...)".
std::string Names(const std::vector<std::string>& names) {
  constexpr size_t kMax = 3;
  std::string text = names.size() == 1 ? "table (" : fmt::format("{} tables (", names.size());
  for (size_t i = 0; i < std::min(kMax, names.size()); ++i) text += (i > 0 ? ", " : "") + names[i];
  return text + (names.size() > kMax ? ", ...)" : ")");
}

std::string Hint(const std::vector<std::string>& names, const char* now, double bytes_now,
                 const char* other, double bytes_other, const char* pool_on) {
  if (names.empty()) return "";
  return fmt::format(
      "pooling: of {} {} move about {} a step, {} would move {} (an estimate); pool_on={} saves "
      "it\n",
      Names(names), now, BytesText(bytes_now), other, BytesText(bytes_other), pool_on);
}

}  // namespace

StepShape StepShapeOf(const Settings& settings, uint32_t workers) {
  const DatasetDeclaration& source = DeclarationOfDataset(settings.data_source());
  StepShape step{.samples = settings.data.mini_batch_size * settings.training.accumulation,
                 .workers = workers,
                 .bag_lengths = {},
                 .zipf_exponent = source.zipf_exponent(settings.data),
                 .row_precision = settings.model.row_precision()};
  for (const FeatureTable& feature : settings.embedding.features) {
    step.bag_lengths.push_back(source.mean_bag_length(settings.data, feature.table.rows));
  }
  return step;
}

FigureTable TrafficTable(const EmbeddingTables& tables, const std::vector<TableTraffic>& traffic) {
  FigureTable table{.columns = {{"name", "table"},
                                {"lookups", "lookups", CountText},
                                {"distinct_rows", "distinct rows", CountText},
                                {"by_rows", "merged rows", BytesText},
                                {"by_bags", "bags", BytesText},
                                {"", "less"},
                                {"pool_on", "pool_on"}}};
  for (const TableTraffic& one : traffic) {
    const bool can_pool = one.refusal.empty();
    table.rows.push_back({NameOf(tables, one), one.lookups, one.distinct_rows, one.by_rows,
                          FigureOrNull(can_pool ? std::optional(one.by_bags) : std::nullopt),
                          can_pool && one.by_bags < one.by_rows ? "bags" : "rows",
                          one.pools_on_shards ? "shards" : "workers"});
  }
  return table;
}

std::string TrafficText(const EmbeddingTables& tables, const std::vector<TableTraffic>& traffic) {
  double planned = 0;
  for (const TableTraffic& one : traffic) planned += one.planned();
  return fmt::format("Bytes a step between workers and shards, estimated: {} as planned\n\n{}",
                     BytesText(planned), TableAsText(TrafficTable(tables, traffic)));
}

std::string TrafficHints(const EmbeddingTables& tables, const std::vector<TableTraffic>& traffic) {
  std::vector<std::string> to_rows, to_bags;
  double rows_of_pooled = 0, bags_of_pooled = 0, rows_of_pulled = 0, bags_of_pulled = 0;
  for (const TableTraffic& one : traffic) {
    if (!one.refusal.empty()) continue;
    if (one.pools_on_shards && one.by_rows < one.by_bags) {
      to_rows.push_back(NameOf(tables, one));
      rows_of_pooled += one.by_rows;
      bags_of_pooled += one.by_bags;
    } else if (!one.pools_on_shards && one.by_bags < kWorthSaying * one.by_rows) {
      to_bags.push_back(NameOf(tables, one));
      rows_of_pulled += one.by_rows;
      bags_of_pulled += one.by_bags;
    }
  }
  return Hint(to_rows, "bags", bags_of_pooled, "merged rows", rows_of_pooled, "workers") +
         Hint(to_bags, "merged rows", rows_of_pulled, "bags", bags_of_pulled, "shards");
}

}  // namespace rowhouse
