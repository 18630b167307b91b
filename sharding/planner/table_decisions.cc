#include "sharding/planner/table_decisions.h"

#include <algorithm>
#include <cmath>

#include "sharding/cost/cache_shares.h"
#include "sharding/plans/plan_maker.h"
#include "sharding/plans/strategy.h"

namespace rowhouse {
namespace {

std::string Ms(double ms) {
  if (ms >= 10) return fmt::format("{:.0f} ms", ms);
  return ms >= 0.01 ? fmt::format("{:.2f} ms", ms) : fmt::format("{:.4f} ms", ms);
}

// "50,000".
std::string Grouped(double number) {
  std::string text = fmt::format("{:.0f}", number);
  for (size_t end = text.size(); end > 3; end -= 3) text.insert(end - 3, ",");
  return text;
}

class Words {
 public:
  Words(const Workload& workload, const ClusterShape& cluster, const TableForms& forms,
        const NodeLimits& limits, const Plan& plan, const OtherReason& otherwise)
      : workload_(workload),
        forms_(forms),
        limits_(limits),
        plan_(plan),
        otherwise_(otherwise),
        shards_(cluster.ps * cluster.shards_per_ps) {
    for (const TableSpec& table : workload.tables.physical) {
      if (!plan.is_on_workers(table.id)) all_ms_ += FormOf(table).WholeMs();
    }
  }

  std::string Why(const TableSpec& table) const {
    return plan_.is_on_workers(table.id) ? WhyOnWorkers(table)
                                         : WhyThere(table) + "; " + WhyPooled(table);
  }

 private:
  TableForm FormOf(const TableSpec& table) const {
    return plan_.pools_on_shards(table.id) ? forms_.Bags(table.id)
                                           : forms_.Rows(table.id, plan_.worker_rows(table.id));
  }

  std::string WhyOnWorkers(const TableSpec& table) const {
    if (forms_.MustBeOnWorkers(table.id)) return "its kind keeps it on the workers";
    const std::string what =
        fmt::format("every worker has its {} {}", Grouped(static_cast<double>(table.rows)),
                    table.rows == 1 ? "row" : "rows");
    const double there = forms_.OnWorkers(table.id).even_ms;
    const double on_shards = forms_.Rows(table.id).even_ms;
    if (there > on_shards) return what + ": " + otherwise_(table);
    return fmt::format(
        "{}: {} of a step with the allreduce of their gradients, against {} for pulling {} rows "
        "from shards",
        what, Ms(there), Ms(on_shards), Grouped(forms_.use(table.id).distinct));
  }

  std::string WhyThere(const TableSpec& table) const {
    const double ms = FormOf(table).WholeMs(), even = all_ms_ / shards_;
    const size_t pieces = plan_.slices(table.id).size();
    const double bytes = static_cast<double>(TableBytesOf(table));
    if (shards_ == 1) return fmt::format("{} of the only shard's time", Ms(ms));
    if (pieces == 1) {
      return fmt::format("whole: {} of a shard's time, {:.2f} times an even share ({})", Ms(ms),
                         ms / std::max(even, 1e-12), Ms(even));
    }
    if (limits_.row_bytes > 0 && bytes > static_cast<double>(limits_.row_bytes)) {
      return fmt::format("divided, as its {:.1f} MiB are more than {} lets a PS node have",
                         bytes / (1 << 20), limits_.name);
    }
    if (ms <= even) return fmt::format("divided into {}: {}", pieces, otherwise_(table));
    return fmt::format(
        "divided into {}: its {} of shards' time are {:.2f} times an even share ({})", pieces,
        Ms(ms), ms / std::max(even, 1e-12), Ms(even));
  }

  std::string WhyPooled(const TableSpec& table) const {
    const TableUse& use = forms_.use(table.id);
    const size_t hot = plan_.worker_rows(table.id).size();
    if (hot > 0) {
      double share = 0;
      workload_.of_table[Raw(table.id)].Without(static_cast<double>(hot), &share);
      return fmt::format("{} {} on the workers {} {:.0f} % of its lookups",
                         Grouped(static_cast<double>(hot)), hot == 1 ? "row" : "rows",
                         hot == 1 ? "has" : "have", 100 * share);
    }
    const std::string& why_not = forms_.WhyNotBags(table.id);
    if (!why_not.empty()) return "workers pool it: " + why_not;
    const bool is_on_shards = plan_.pools_on_shards(table.id);
    const std::string who = is_on_shards ? "shards pool it: " : "workers pool it: ";
    const double of_shards = forms_.Bags(table.id).even_ms;
    const double of_workers = forms_.Rows(table.id).even_ms;
    if (is_on_shards && workload_.tables.pool_on[Raw(table.id)] == "shards") {
      return who + "it says pool_on: shards";
    }
    if (is_on_shards != (of_shards <= of_workers)) return who + otherwise_(table);
    return who + fmt::format("{} if shards pool bags of {:.1f}, {} if workers pull {} rows",
                             Ms(of_shards), use.bag_length, Ms(of_workers), Grouped(use.distinct));
  }

  const Workload& workload_;
  const TableForms& forms_;
  const NodeLimits& limits_;
  const Plan& plan_;
  const OtherReason& otherwise_;
  const uint32_t shards_;
  double all_ms_ = 0;
};

}  // namespace

std::string StrategyLike(const TableSpec& table, const Plan& plan) {
  if (plan.is_on_workers(table.id)) return "replicated";
  const auto bands = plan.bands(table.id);
  const bool cuts_columns =
      std::ranges::any_of(bands, [](const Plan::Band& band) { return band.cuts.size() > 1; });
  if (bands.size() > 1 && cuts_columns) return "grid";
  if (cuts_columns) return "column_wise";
  if (!plan.worker_rows(table.id).empty()) return "skew_aware";
  if (bands.size() == 1) return "table_wise";
  return plan.order(table.id).is_scattered() ? "row_wise_hashed" : "row_wise";
}

std::vector<TableDecision> DecisionsOf(const Workload& workload, const ClusterShape& cluster,
                                       const TableForms& forms, const NodeLimits& limits,
                                       const Plan& plan, const OtherReason& otherwise) {
  const Words words(workload, cluster, forms, limits, plan, otherwise);
  const CacheShares caches =
      CacheSharesOf(workload, plan, TrafficOfStep(workload, plan), cluster.shards_per_ps);
  std::vector<TableDecision> decisions;
  for (const TableSpec& table : workload.tables.physical) {
    decisions.push_back({.strategy = StrategyLike(table, plan),
                         .pieces = static_cast<uint32_t>(plan.slices(table.id).size()),
                         .pools_on_shards = plan.pools_on_shards(table.id),
                         .hot_rows = static_cast<uint32_t>(plan.worker_rows(table.id).size()),
                         .cache_bytes = caches.cached_bytes[Raw(table.id)],
                         .cache_share = plan.cache_share(table.id),
                         .why = words.Why(table)});
  }
  return decisions;
}

}  // namespace rowhouse
