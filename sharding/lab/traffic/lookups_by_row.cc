#include "sharding/lab/traffic/lookups_by_row.h"

#include <algorithm>
#include <cmath>

namespace rowhouse {
namespace {

using Sum = LookupsByRow::Sum;

Sum Plus(const Sum& a, const Sum& b) {
  return {a.lookups + b.lookups, a.distinct_rows + b.distinct_rows};
}

Sum Minus(const Sum& a, const Sum& b) {
  return {a.lookups - b.lookups, a.distinct_rows - b.distinct_rows};
}

Sum SumTimes(double times, const Sum& of) { return {times * of.lookups, times * of.distinct_rows}; }

}  // namespace

LookupsByRow::LookupsByRow(const TableAccesses& counted, double lookups)
    : rows_(counted.rows), range_rows_(counted.range_rows) {
  const auto total = static_cast<double>(std::max<uint64_t>(1, counted.total()));
  const auto of_count = [&](double count) -> Sum {
    const double probability = std::min(count / total, 1 - 1e-12);
    return {count, -std::expm1(lookups * std::log1p(-probability))};
  };
  std::vector<double> cold(counted.ranges.begin(), counted.ranges.end());
  std::vector<double> cold_rows(cold.size(), static_cast<double>(range_rows_));
  if (!cold.empty()) {
    cold_rows.back() = static_cast<double>(rows_ - (cold.size() - 1) * range_rows_);
  }
  for (const TableAccesses::Row& hot : counted.hottest) {
    const size_t range = hot.row / range_rows_;
    const auto count = static_cast<double>(hot.count);
    cold[range] = std::max(0.0, cold[range] - count);
    --cold_rows[range];
    points_.push_back({.row = hot.row, .before = {}, .own = of_count(count)});
  }
  std::ranges::sort(points_, {}, &Point::row);
  points_.push_back({.row = UINT64_MAX, .before = {}, .own = {}});
  for (size_t i = 1; i < points_.size(); ++i) {
    points_[i].before = Plus(points_[i - 1].before, points_[i - 1].own);
  }
  cold_before_.push_back({});
  for (size_t r = 0; r < cold.size(); ++r) {
    const Sum of_row = cold_rows[r] > 0 ? of_count(cold[r] / cold_rows[r]) : Sum{};
    cold_before_.push_back(
        Plus(cold_before_.back(), SumTimes(std::max(0.0, cold_rows[r]), of_row)));
  }
}

// As if cold rows lay between the rows that were counted by themselves, which take no room.
Sum LookupsByRow::OfColdRow(size_t range) const {
  const uint64_t first = range * range_rows_;
  const auto width = static_cast<double>(std::min(range_rows_, rows_ - first));
  return SumTimes(1 / width, Minus(cold_before_[range + 1], cold_before_[range]));
}

Sum LookupsByRow::Until(uint64_t end) const {
  if (end == 0) return {};
  const auto point = std::ranges::lower_bound(points_, end, {}, &Point::row);
  const size_t range = (end - 1) / range_rows_;
  const auto inside = static_cast<double>(end - range * range_rows_);
  return Plus(point->before, Plus(cold_before_[range], SumTimes(inside, OfColdRow(range))));
}

Sum LookupsByRow::OfRow(RowId row) const {
  const auto point = std::ranges::lower_bound(points_, Raw(row), {}, &Point::row);
  return point->row == Raw(row) ? point->own : OfColdRow(Raw(row) / range_rows_);
}

Sum LookupsByRow::Of(uint64_t begin, uint64_t end, std::span<const RowId> without) const {
  Sum sum = Minus(Until(end), Until(begin));
  auto row = std::ranges::lower_bound(without, RowId{begin});
  for (; row != without.end() && Raw(*row) < end; ++row) sum = Minus(sum, OfRow(*row));
  return {std::max(0.0, sum.lookups), std::max(0.0, sum.distinct_rows)};
}

}  // namespace rowhouse
