#include "sharding/plan_traffic.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "sharding/plan_maker.h"

namespace rowhouse {
namespace {

constexpr double kValue = sizeof(float), kPartial = sizeof(double);
constexpr double kRowId = sizeof(uint64_t), kCount = sizeof(uint32_t), kLength = sizeof(uint32_t);

// Rows touched of `rows` that have `share` of all lookups, each as much of it: each is missed by
// every lookup with (1 - share / rows)^lookups, here without the cancellation of large tables.
double Touched(double rows, double share, double lookups) {
  if (rows <= 0.0 || share <= 0.0 || lookups <= 0.0) return 0.0;
  if (share >= rows) return rows;
  return -rows * std::expm1(lookups * std::log1p(-share / rows));
}

// Pieces that a row of the table is cut into, over its rows.
double MeanCuts(const Plan& plan, const TableSpec& table) {
  double cuts = 0;
  for (const Slice& slice : plan.slices(table.id)) cuts += static_cast<double>(slice.rows());
  return cuts / static_cast<double>(table.rows);
}

// Columns of all answers about one bag, and how many answers there are.
struct Answers {
  double count = 0, columns = 0;
};

Answers AnswersAboutBag(const Plan& plan, TableId table) {
  std::set<std::pair<ShardId, uint32_t>> groups;
  Answers answers;
  for (const Slice& slice : plan.slices(table)) {
    if (!groups.emplace(slice.shard, slice.column_begin).second) continue;
    ++answers.count;
    answers.columns += slice.columns();
  }
  return answers;
}

class Estimate {
 public:
  Estimate(const EmbeddingTables& tables, const Plan& plan, const StepShape& step,
           const AccessCounts* accesses)
      : tables_(tables), plan_(plan), step_(step), accesses_(accesses) {}

  TableTraffic Of(const TableSpec& table) const {
    TableTraffic traffic{.table = table.id, .refusal = {}};
    traffic.pools_on_shards = plan_.pools_on_shards(table.id);
    for (size_t f = 0; f < tables_.features.size(); ++f) {
      const FeatureTable& feature = tables_.features[f];
      const double lookups = static_cast<double>(step_.samples) * step_.bag_lengths[f];
      if (feature.weights == table.id) {
        traffic.lookups += lookups;
        traffic.refusal = "they are the weights of ids";
      }
      for (const TableId part : feature.parts) {
        if (part != table.id) continue;
        traffic.lookups += lookups;
        traffic.by_bags += BytesByBags(feature, table, lookups);
        if (traffic.refusal.empty()) {
          traffic.refusal = WhyNotPooledOnShards(tables_, feature, table.id, plan_);
        }
      }
    }
    if (!traffic.refusal.empty()) traffic.by_bags = 0;
    CountRows(table, &traffic);
    return traffic;
  }

 private:
  bool IsPushed(const TableSpec& table) const { return !tables_.is_frozen[Raw(table.id)]; }

  void CountRows(const TableSpec& table, TableTraffic* traffic) const {
    const TableAccesses* counted = accesses_ == nullptr ? nullptr : accesses_->Find(table.name);
    const double of_worker = traffic->lookups / step_.workers;
    traffic->distinct_rows = step_.workers * ExpectedDistinctRows(table.rows, of_worker, counted,
                                                                  plan_.worker_rows(table.id));
    const double cuts = MeanCuts(plan_, table);
    const double values = table.dim * kValue;
    double bytes = cuts * (kRowId + kCount) + values;
    if (IsPushed(table)) {
      const double counts = DividesByLookups(tables_.physical) ? kCount : 0;
      bytes += cuts * (kRowId + counts) + values;
    }
    traffic->by_rows = traffic->distinct_rows * bytes;
  }

  double BytesByBags(const FeatureTable& feature, const TableSpec& table, double lookups) const {
    const auto bags = static_cast<double>(step_.samples);
    const double id = table.rows <= uint64_t{1} << 32 ? sizeof(uint32_t) : sizeof(uint64_t);
    const bool is_max = feature.table.pooling == "max";
    const double answer = !is_max && plan_.splits_bags(table.id) ? kPartial : kValue;
    const double winner = is_max ? sizeof(uint32_t) : 0;
    const Answers answers = AnswersAboutBag(plan_, table.id);
    double bytes = lookups * MeanCuts(plan_, table) * id + bags * answers.count * kLength +
                   bags * answers.columns * (answer + winner);
    if (IsPushed(table)) bytes += bags * answers.columns * (kValue + winner);
    return bytes;
  }

  const EmbeddingTables& tables_;
  const Plan& plan_;
  const StepShape& step_;
  const AccessCounts* accesses_;
};

}  // namespace

double ExpectedDistinctRows(uint64_t rows, double lookups, const TableAccesses* accesses,
                            std::span<const RowId> but_for) {
  const auto all = static_cast<double>(rows);
  if (accesses == nullptr || accesses->total() == 0) {
    return Touched(all, 1.0, lookups) * (1.0 - static_cast<double>(but_for.size()) / all);
  }
  const auto total = static_cast<double>(accesses->total());
  std::vector<double> left(accesses->ranges.begin(), accesses->ranges.end());
  std::vector<double> rows_left(left.size());
  for (size_t r = 0; r < left.size(); ++r) {
    rows_left[r] = static_cast<double>(
        std::min(accesses->range_rows, accesses->rows - r * accesses->range_rows));
  }
  double distinct = 0;
  for (const TableAccesses::Row& hot : accesses->hottest) {
    const auto count = static_cast<double>(hot.count);
    if (!std::ranges::binary_search(but_for, RowId{hot.row})) {
      distinct += Touched(1.0, count / total, lookups);
    }
    const size_t range = hot.row / accesses->range_rows;
    left[range] = std::max(0.0, left[range] - count);
    --rows_left[range];
  }
  for (size_t r = 0; r < left.size(); ++r) {
    distinct += Touched(rows_left[r], left[r] / total, lookups);
  }
  return distinct;
}

std::vector<TableTraffic> TrafficOf(const EmbeddingTables& tables, const Plan& plan,
                                    const StepShape& step, const AccessCounts* accesses) {
  CHECK_EQ(step.bag_lengths.size(), tables.features.size());
  CHECK_GT(step.workers, 0u);
  const Estimate estimate(tables, plan, step, accesses);
  std::vector<TableTraffic> all;
  for (const TableSpec& table : tables.physical) {
    if (!plan.is_on_workers(table.id)) all.push_back(estimate.Of(table));
  }
  return all;
}

}  // namespace rowhouse
