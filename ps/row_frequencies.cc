#include "ps/row_frequencies.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rowhouse {

RowFrequencies::RowFrequencies(const TableAccesses& accesses)
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

double RowFrequencies::Of(RowId row) const {
  if (Raw(row) >= rows_) return 0.0;
  const auto hot = counts_.find(Raw(row));
  return hot != counts_.end() ? static_cast<double>(hot->second) : means_[Raw(row) / range_rows_];
}

std::vector<std::pair<RowId, uint64_t>> RowFrequencies::Hottest(
    uint64_t rows, const std::function<bool(RowId)>& is_wanted) const {
  std::vector<std::pair<RowId, uint64_t>> result;
  for (const TableAccesses::Row& hot : hottest_) {
    if (result.size() >= rows) return result;
    if (is_wanted(RowId{hot.row})) result.emplace_back(RowId{hot.row}, hot.count);
  }
  // A sketch's hottest rows are those it could tell; any other row is taken to be colder.
  std::vector<size_t> ranges(means_.size());
  std::iota(ranges.begin(), ranges.end(), size_t{0});
  std::ranges::stable_sort(ranges, std::greater(), [&](size_t i) { return means_[i]; });
  for (const size_t range : ranges) {
    const uint64_t end = std::min(rows_, (range + 1) * range_rows_);
    for (uint64_t row = range * range_rows_; row < end; ++row) {
      if (result.size() >= rows) return result;
      if (counts_.contains(row) || !is_wanted(RowId{row})) continue;
      result.emplace_back(RowId{row}, static_cast<uint64_t>(std::llround(means_[range])));
    }
  }
  return result;
}

}  // namespace rowhouse
