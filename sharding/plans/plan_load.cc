#include "sharding/plans/plan_load.h"

#include <algorithm>
#include <numeric>

#include "sharding/rows/optimizer.h"
#include "sharding/rows/record_weights.h"

namespace rowhouse {
namespace {

// A table's accesses, without those of rows on the workers, by position in its row order.
class Accesses {
 public:
  Accesses(const TableAccesses& counted, const RowOrder& order, const std::vector<RowId>& without)
      : range_rows_(order.is_scattered() ? counted.rows : counted.range_rows), rows_(counted.rows) {
    std::vector<double> cold(counted.ranges.begin(), counted.ranges.end());
    for (const TableAccesses::Row& hot : counted.hottest) {
      double& of_range = cold[hot.row / counted.range_rows];
      of_range = std::max(0.0, of_range - static_cast<double>(hot.count));
      if (std::ranges::binary_search(without, RowId{hot.row})) {
        on_workers_ += static_cast<double>(hot.count);
        continue;
      }
      points_.emplace_back(order.PositionOf(RowId{hot.row}), static_cast<double>(hot.count));
    }
    if (order.is_scattered()) cold = {std::accumulate(cold.begin(), cold.end(), 0.0)};
    cold_ = std::move(cold);
    std::ranges::sort(points_);
  }

  double on_workers() const { return on_workers_; }

  // Of positions [begin, end), begin < end.
  double Of(uint64_t begin, uint64_t end) const {
    double sum = 0.0;
    for (uint64_t range = begin / range_rows_; range <= (end - 1) / range_rows_; ++range) {
      const uint64_t first = range * range_rows_;
      const uint64_t last = std::min(rows_ - first, range_rows_) + first;
      const uint64_t shared = std::min(end, last) - std::max(begin, first);
      sum += cold_[range] * static_cast<double>(shared) / static_cast<double>(last - first);
    }
    const auto point = std::ranges::lower_bound(points_, std::pair(begin, 0.0));
    for (auto at = point; at != points_.end() && at->first < end; ++at) sum += at->second;
    return sum;
  }

 private:
  const uint64_t range_rows_, rows_;
  std::vector<double> cold_;
  std::vector<std::pair<uint64_t, double>> points_;  // position, accesses
  double on_workers_ = 0.0;
};

}  // namespace

PlanLoad LoadOf(const std::vector<TableSpec>& tables, const Plan& plan,
                const AccessCounts* accesses) {
  PlanLoad load;
  load.shards.resize(plan.shards());
  for (const TableSpec& table : tables) {
    const auto optimizer = Optimizers().Make(table.optimizer, table.optimizer_options).value();
    const RowOrder& order = plan.order(table.id);
    const std::vector<RowId>& worker_rows = plan.worker_rows(table.id);
    std::vector<uint64_t> gone;  // positions of those
    for (const RowId row : worker_rows) gone.push_back(order.PositionOf(row));
    std::ranges::sort(gone);
    const TableAccesses* counted = accesses == nullptr ? nullptr : accesses->Find(table.name);
    std::optional<Accesses> of_table;
    if (counted != nullptr && counted->rows == table.rows) {
      of_table.emplace(*counted, order, worker_rows);
    }
    for (const Slice& slice : plan.slices(table.id)) {
      ShardLoad& shard = slice.shard == kOnWorkers ? load.workers : load.shards[Raw(slice.shard)];
      const auto first = std::ranges::lower_bound(gone, slice.row_begin);
      const auto rows = static_cast<double>(
          slice.rows() -
          static_cast<uint64_t>(std::ranges::lower_bound(gone, slice.row_end) - first));
      ++shard.slices;
      shard.rows += rows;
      shard.bytes +=
          rows * static_cast<double>(LayoutOf(table, *optimizer, slice.columns()).bytes());
      if (of_table) shard.accesses += of_table->Of(slice.row_begin, slice.row_end);
    }
    const auto single = static_cast<double>(worker_rows.size());
    load.workers.rows += single;
    load.workers.bytes += single * static_cast<double>(LayoutOf(table, *optimizer).bytes());
    if (of_table) load.workers.accesses += of_table->on_workers();
  }
  return load;
}

double MaxOverMean(const std::vector<double>& values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  if (sum <= 0.0) return 1.0;
  return std::ranges::max(values) * static_cast<double>(values.size()) / sum;
}

}  // namespace rowhouse
