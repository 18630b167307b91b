#include "launch/lab/traced_workload.h"

#include <algorithm>

#include "launch/lab/workload_of_run.h"
#include "sharding/cost/step_traffic.h"

namespace rowhouse {

IdDistribution TracedDistribution(const TracedTable& table, const TableAccesses& accesses) {
  if (table.sampled >= 1.0) return IdDistribution::Counted(accesses);
  const double likes = 1.0 / table.sampled;  // rows that each row of the sample stands for
  std::vector<IdDistribution::Group> groups;
  auto rows_left = static_cast<double>(table.rows);
  auto lookups_left = static_cast<double>(accesses.total());
  for (const TableAccesses::Row& row : accesses.hottest) {
    const auto count = static_cast<double>(row.count);
    if (rows_left <= likes || lookups_left <= 0.0) break;
    groups.push_back({likes, count});
    rows_left -= likes;
    lookups_left -= likes * count;
  }
  if (rows_left > 0.0 && lookups_left > 0.0)
    groups.push_back({rows_left, lookups_left / rows_left});
  if (groups.empty()) return IdDistribution::Uniform(static_cast<double>(table.rows));
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
  for (size_t t = 0; t < summary.tables.size(); ++t) {
    const TracedTable& table = summary.tables[t];
    workload.lookups[t] = table.lookups / samples;
    workload.of_table[t] = TracedDistribution(table, summary.accesses.tables[t]);
    workload.lru_miss_ratio.emplace_back();
    if (table.curve.points.empty()) continue;
    workload.lru_miss_ratio.back() = [curve = table.curve](double rows) {
      return curve.MissRatio(rows);
    };
  }
  SpreadByRow(&workload);
  return workload;
}

}  // namespace rowhouse
