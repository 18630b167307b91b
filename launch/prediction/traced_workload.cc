#include "launch/prediction/traced_workload.h"

#include <algorithm>

#include "launch/prediction/workload_of_run.h"
#include "sharding/lab/traffic/step_traffic.h"

namespace rowhouse {

namespace {

// Lookups of a row of a sample that say how often it is looked up.
constexpr double kEnough = 5;

// The number of a table's lookups is known, and the hottest rows have many of them: by chance a
// sample has too few of these rows or too many, and its lookups, scaled, are too few or too many.
// `missing` of them are given to the hottest group, or, if it is negative, taken from the hottest
// groups down to one level. `groups`: by falling probability, which is a number of lookups here;
// not empty.
void GiveToHottest(double missing, std::vector<IdDistribution::Group>* groups) {
  IdDistribution::Group& top = groups->front();
  if (missing >= 0.0) {
    top.probability += missing / top.rows;
    return;
  }
  double surplus = -missing, rows = 0.0, level = top.probability;
  size_t levelled = 0;  // groups above the level
  while (surplus > 0.0 && levelled < groups->size()) {
    rows += (*groups)[levelled++].rows;
    const double next = levelled < groups->size() ? (*groups)[levelled].probability : 0.0;
    const double taken = std::min(surplus, rows * (level - next));
    level -= taken / rows;
    surplus -= taken;
  }
  for (size_t g = 0; g < levelled; ++g) (*groups)[g].probability = level;
}

// Rows that the sample has seldom say little one by one, and nothing of those that it lacks: a Zipf
// law over all of them, of the exponent that gives as many distinct rows in so many lookups.
IdDistribution TailOf(double rows, double lookups, double distinct) {
  constexpr double kSteepest = 4;
  IdDistribution even = IdDistribution::Uniform(rows);
  if (distinct >= even.DistinctRows(lookups)) return even;
  double low = 0, high = kSteepest;
  for (int i = 0; i < 16; ++i) {
    const double middle = (low + high) / 2;
    const bool is_too_even = IdDistribution::Zipf(rows, middle).DistinctRows(lookups) > distinct;
    (is_too_even ? low : high) = middle;
  }
  return IdDistribution::Zipf(rows, high);
}

}  // namespace

IdDistribution TracedDistribution(const TracedTable& table, const TableAccesses& accesses) {
  if (table.sampled >= 1.0) return IdDistribution::Counted(accesses);
  const double likes = 1.0 / table.sampled;  // rows that each row of the sample stands for
  std::vector<IdDistribution::Group> groups;
  const auto lookups = static_cast<double>(accesses.total());
  auto rows_left = static_cast<double>(table.rows);
  double lookups_left = lookups;
  for (const TableAccesses::Row& row : accesses.hottest) {
    const auto count = static_cast<double>(row.count);
    if (count < kEnough || rows_left <= likes || lookups_left <= 0.0) break;
    groups.push_back({likes, count});
    rows_left -= likes;
    lookups_left -= likes * count;
  }
  const double hot_rows = static_cast<double>(table.rows) - rows_left;
  if (!groups.empty()) GiveToHottest(table.lookups - lookups, &groups);
  if (rows_left > 0.0 && lookups_left > 0.0) {
    const IdDistribution tail = TailOf(rows_left, lookups_left, table.distinct_rows - hot_rows);
    for (const IdDistribution::Group& group : tail.groups()) {
      groups.push_back({group.rows, group.probability * lookups_left});
    }
  } else if (rows_left > 0.0) {
    groups.push_back({rows_left, 0.0});
  }
  return IdDistribution::Of(std::move(groups));
}

Result<Workload> TracedWorkload(const Settings& settings, uint32_t workers,
                                const TraceSummary& summary) {
  ASSIGN_OR_RETURN(Workload workload, WorkloadOf(settings, workers, &summary.accesses));
  CHECK_EQ(summary.tables.size(), workload.tables.physical.size());
  CHECK_EQ(summary.features.size(), workload.step.bag_lengths.size());
  for (size_t k = 0; k < summary.features.size(); ++k) {
    workload.step.bag_lengths[k] = summary.features[k].bags.mean_bag();
  }
  const auto samples = static_cast<double>(std::max<uint64_t>(1, summary.samples));
  workload.lru_miss_ratio.clear();
  std::vector<bool> is_sampled;  // a row of the sample stands for others that lie elsewhere
  for (size_t t = 0; t < summary.tables.size(); ++t) {
    const TracedTable& table = summary.tables[t];
    is_sampled.push_back(table.sampled < 1.0);
    workload.lookups[t] = table.lookups / samples;
    workload.of_table[t] = TracedDistribution(table, summary.accesses.tables[t]);
    workload.lru_miss_ratio.emplace_back();
    if (table.curve.points.empty()) continue;
    workload.lru_miss_ratio.back() = [curve = table.curve](double rows) {
      return curve.MissRatio(rows);
    };
  }
  SpreadByRow(&workload, is_sampled);
  return workload;
}

}  // namespace rowhouse
