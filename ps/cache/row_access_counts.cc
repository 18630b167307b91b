#include "ps/cache/row_access_counts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rowhouse {

RowAccessCounts::RowAccessCounts(const TableAccesses& accesses)
    : rows_(accesses.rows), range_rows_(accesses.range_rows), hottest_(accesses.hottest) {
  std::vector<uint64_t> rest_counts = accesses.ranges;
  std::vector<uint64_t> rest_rows(rest_counts.size(), range_rows_);
  rest_rows.back() = rows_ - (rest_rows.size() - 1) * range_rows_;
  for (const TableAccesses::Row& hot : hottest_) {
    counts_.emplace(hot.row, hot.count);
    uint64_t& rest = rest_counts[hot.row / range_rows_];
    rest -= std::min(rest, hot.count);
    --rest_rows[hot.row / range_rows_];
  }
  for (size_t i = 0; i < rest_counts.size(); ++i) {
    means_.push_back(rest_rows[i] == 0
                         ? 0.0
                         : static_cast<double>(rest_counts[i]) / static_cast<double>(rest_rows[i]));
  }
}

double RowAccessCounts::Of(RowId row) const {
  if (Raw(row) >= rows_) return 0.0;
  const auto hot = counts_.find(Raw(row));
  return hot != counts_.end() ? static_cast<double>(hot->second) : means_[Raw(row) / range_rows_];
}

std::vector<std::pair<RowId, uint64_t>> RowAccessCounts::Hottest(
    uint64_t most, uint64_t begin, uint64_t end,
    const std::function<bool(RowId)>& is_wanted) const {
  end = std::min(end, rows_);
  std::vector<std::pair<RowId, uint64_t>> result;
  for (const TableAccesses::Row& hot : hottest_) {
    if (result.size() >= most) return result;
    if (hot.row < begin || hot.row >= end || !is_wanted(RowId{hot.row})) continue;
    result.emplace_back(RowId{hot.row}, hot.count);
  }
  // A sketch's hottest rows are those it could tell; any other row is taken to be colder.
  std::vector<size_t> ranges;
  for (size_t i = begin / range_rows_; i < means_.size() && i * range_rows_ < end; ++i) {
    ranges.push_back(i);
  }
  std::ranges::stable_sort(ranges, std::greater(), [&](size_t i) { return means_[i]; });
  for (const size_t range : ranges) {
    const uint64_t range_end = std::min(end, (range + 1) * range_rows_);
    for (uint64_t row = std::max(begin, range * range_rows_); row < range_end; ++row) {
      if (result.size() >= most) return result;
      if (counts_.contains(row) || !is_wanted(RowId{row})) continue;
      result.emplace_back(RowId{row}, static_cast<uint64_t>(std::llround(means_[range])));
    }
  }
  return result;
}

}  // namespace rowhouse
