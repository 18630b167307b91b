#include "sharding/planner/next_best.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

namespace rowhouse {
namespace {

// Predictions of one way on different shards.
constexpr int kShardsToTry = 4;

std::string Where(const TableSpec& table, const TableParts& parts) {
  if (parts.is_on_workers()) return "on the workers";
  if (parts.slices.size() == 1) return "whole on a shard";
  return parts.slices[0].rows() < table.rows ? "divided by rows" : "divided by columns";
}

// `now`: how it is; what is the same is left out, if anything else differs.
std::string HowOf(const TableSpec& table, const TableParts& parts, const TableParts& now) {
  std::string how = Where(table, parts);
  if (parts.is_on_workers()) return how;
  const TablePlacement &to = parts.placement, &from = now.placement;
  if (to.worker_rows.size() != from.worker_rows.size() && !now.is_on_workers()) {
    how += to.worker_rows.empty() ? " without hot rows on the workers"
                                  : " with hot rows on the workers";
  }
  if (now.is_on_workers() || to.pools_on_shards != from.pools_on_shards) {
    how += to.pools_on_shards ? ", pooled there" : ", pooled by workers";
  }
  return how;
}

}  // namespace

std::optional<NextBest> NextBestOf(const PlanChoice& choice, const TableSpec& table) {
  const PlanParts all(choice.plan());
  const TableParts& now = all.tables()[Raw(table.id)];
  const std::string how_now = HowOf(table, now, now);
  std::optional<NextBest> best;
  std::map<std::string, int> tried;
  for (const TableParts& place : choice.places().Of(table, &now)) {
    std::string how = HowOf(table, place, now);
    if (how == how_now || ++tried[how] > kShardsToTry) continue;
    const std::optional<double> ms = choice.MsWith(table, place);
    if (ms && (!best || *ms < best->ms)) best = {std::move(how), *ms, choice.has_cache_shares()};
  }
  return best;
}

std::string NextBestText(const NextBest& next, double ms) {
  const double more = 100 * (next.ms / ms - 1);
  const std::string than = std::abs(more) < 0.05 ? "as long"
                           : more > 0            ? fmt::format("{:.1f} % longer", more)
                                                 : fmt::format("{:.1f} % less", -more);
  return fmt::format("the next best, {}, takes {:.2f} ms a step, {}{}", next.how, next.ms, than,
                     next.leaves_out_shares ? ", both with caches divided equally" : "");
}

}  // namespace rowhouse
