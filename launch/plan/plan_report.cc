#include "launch/plan/plan_report.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "common/counted.h"
#include "launch/figures/figure_text.h"
#include "launch/figures/text_table.h"
#include "sharding/plans/plan_load.h"

namespace rowhouse {
namespace {

std::string Percent(double part, double whole) {
  return whole > 0.0 ? fmt::format("{:.2f} %", 100.0 * part / whole) : "-";
}

std::string PlanCount(uint64_t count) { return CountText(static_cast<double>(count)); }

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
  TextTable table = {.columns = {{.name = "PS node", .is_number = true},
                                 {.name = "shard", .is_number = true},
                                 {.name = "bytes", .is_number = true},
                                 {.name = "rows", .is_number = true},
                                 {.name = "slices", .is_number = true},
                                 {.name = "accesses", .is_number = true}},
                     .rows = {}};
  for (size_t s = 0; s < load.shards.size(); ++s) {
    const ShardLoad& shard = load.shards[s];
    table.rows.push_back({std::to_string(s / file.shards_per_ps), std::to_string(s),
                          BytesText(shard.bytes), CountText(shard.rows), PlanCount(shard.slices),
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
  TextTable table = {.columns = {{.name = "table"},
                                 {.name = "rows", .is_number = true},
                                 {.name = "lookups", .is_number = true},
                                 {.name = "rows touched", .is_number = true},
                                 {.name = "rows pulled", .is_number = true},
                                 {.name = "top 1 %", .is_number = true},
                                 {.name = "top 0.1 %", .is_number = true},
                                 {.name = "hottest rows"}},
                     .rows = {}};
  for (size_t t = 0; t < counts.counts.tables.size(); ++t) {
    const TableAccesses& one = counts.counts.tables[t];
    const auto total = static_cast<double>(one.total());
    std::vector<std::string> hottest;
    for (size_t i = 0; i < std::min(kShown, one.hottest.size()); ++i) {
      hottest.push_back(fmt::format("{} ({})", one.hottest[i].row,
                                    Percent(static_cast<double>(one.hottest[i].count), total)));
    }
    table.rows.push_back({one.name, PlanCount(one.rows), PlanCount(one.total()),
                          PlanCount(counts.rows_touched[t]), PlanCount(counts.rows_pulled[t]),
                          ShareOfTop(one, 0.01), ShareOfTop(one, 0.001),
                          fmt::format("{}", fmt::join(hottest, " "))});
  }
  return fmt::format("{} samples\n\n", PlanCount(counts.samples)) + TableAsText(table);
}

}  // namespace rowhouse
