// skew_aware: every table is divided into one range of rows for each shard, of equal measured
// accesses instead of equal size; the hottest rows live on the workers.
//
// A row is hot if it alone has more than kHotShare of a shard's share; the option hot_rows bounds
// their number over all tables. All rows of a table whose bags shards pool stay on the shards, as a
// bag is not pooled half here and half there. Tables without accesses are divided by bytes, and
// bytes have a small weight in all others, so that cold rows are spread too.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "sharding/plans/strategy.h"

namespace rowhouse {
namespace {

constexpr double kHotShare = 1.0 / 64;
constexpr double kShareOfSize = 1e-3;  // of a table's weight, spread evenly over its rows

struct HotRow {
  size_t table;  // of the request
  uint64_t row;
  double share;  // of the accesses of a shard
};

// Accesses by row: exact for counted rows, evenly spread between them.
class Weights {
 public:
  Weights(const TableAccesses& accesses, const std::vector<RowId>& without)
      : accesses_(accesses), density_(accesses.ranges.size()) {
    for (size_t i = 0; i < density_.size(); ++i) {
      density_[i] = static_cast<double>(accesses.ranges[i]);
    }
    for (const TableAccesses::Row& hot : accesses.hottest) {
      double& range = density_[hot.row / accesses.range_rows];
      range = std::max(0.0, range - static_cast<double>(hot.count));
      if (std::ranges::binary_search(without, RowId{hot.row})) continue;
      points_.push_back(hot);
    }
    std::ranges::sort(points_, {}, &TableAccesses::Row::row);
    double total = 0.0;
    for (const double range : density_) total += range;
    for (const TableAccesses::Row& point : points_) total += static_cast<double>(point.count);
    const double even = total == 0.0 ? 1.0 : total * kShareOfSize;
    for (size_t i = 0; i < density_.size(); ++i) {
      density_[i] = density_[i] / RowsOf(i) + even / static_cast<double>(accesses.rows);
    }
    total_ = total + even;
  }

  // Divides the rows into shares.size() ranges; range s has shares[s] of all accesses.
  std::vector<uint64_t> Cut(const std::vector<double>& shares) const {
    std::vector<uint64_t> cuts = {0};
    double wanted = 0.0, passed = 0.0;
    size_t next_share = 0;
    wanted = shares[0] * total_;
    const auto take = [&](uint64_t begin, uint64_t end, double density) {
      // Cuts wherever a share is full within [begin, end).
      while (next_share + 1 < shares.size() &&
             passed + density * static_cast<double>(end - begin) >= wanted) {
        const double rows = density > 0.0 ? (wanted - passed) / density : 0.0;
        const uint64_t cut =
            std::min(end, begin + static_cast<uint64_t>(std::llround(std::max(rows, 0.0))));
        passed += density * static_cast<double>(cut - begin);
        begin = cut;
        cuts.push_back(cut);
        wanted += shares[++next_share] * total_;
      }
      passed += density * static_cast<double>(end - begin);
    };
    auto point = points_.begin();
    for (size_t i = 0; i < density_.size(); ++i) {
      uint64_t begin = i * accesses_.range_rows;
      const uint64_t end = std::min(begin + accesses_.range_rows, accesses_.rows);
      for (; point != points_.end() && point->row < end; ++point) {
        take(begin, point->row, density_[i]);
        take(point->row, point->row + 1, density_[i] + static_cast<double>(point->count));
        begin = point->row + 1;
      }
      take(begin, end, density_[i]);
    }
    while (cuts.size() < shares.size()) cuts.push_back(accesses_.rows);
    cuts.push_back(accesses_.rows);
    return cuts;
  }

 private:
  double RowsOf(size_t range) const {
    const uint64_t begin = range * accesses_.range_rows;
    return static_cast<double>(std::min(accesses_.range_rows, accesses_.rows - begin));
  }

  const TableAccesses& accesses_;
  std::vector<double> density_;  // weight of a row of each range that is no point
  std::vector<TableAccesses::Row> points_;
  double total_ = 0.0;
};

class SkewAware final : public ShardingStrategy {
 public:
  std::vector<std::string> settings() const override { return {"capacities", "hot_rows"}; }

  Result<Placed> Place(const StrategyRequest& request) const override {
    if (request.accesses == nullptr) {
      return UsageError("strategy skew_aware needs access counts, which say what rows are hot");
    }
    std::vector<const TableAccesses*> accesses;
    for (const TableSpec& table : request.tables) {
      accesses.push_back(request.accesses->Find(table.name));
      if (accesses.back() == nullptr || accesses.back()->rows != table.rows) {
        return UsageError(
            "access counts: {} table \"{}\" of {} rows; count the ids of this model and its data",
            accesses.back() == nullptr ? "nothing about" : "another size than that of", table.name,
            table.rows);
      }
    }
    std::vector<double> shares;
    for (uint32_t s = 0; s < request.shards; ++s) shares.push_back(request.capacity(s));
    const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
    for (double& share : shares) share /= all;
    const std::vector<std::vector<RowId>> hot = HotRows(request, accesses);

    Placed placed;
    for (size_t t = 0; t < request.tables.size(); ++t) {
      const TableSpec& table = request.tables[t];
      if (!hot[t].empty()) {
        placed.placements.push_back({.table = table.id, .order = {}, .worker_rows = hot[t]});
      }
      std::vector<double> mine = shares;
      std::ranges::rotate(mine, mine.begin() + static_cast<std::ptrdiff_t>(t % mine.size()));
      const std::vector<uint64_t> cuts = Weights(*accesses[t], hot[t]).Cut(mine);
      PlaceRanges(request, t, cuts, &placed);
    }
    return placed;
  }

 private:
  static std::vector<std::vector<RowId>> HotRows(
      const StrategyRequest& request, const std::vector<const TableAccesses*>& accesses) {
    std::vector<HotRow> rows;
    for (size_t t = 0; t < accesses.size(); ++t) {
      if (!request.pools_on_shards.empty() && request.pools_on_shards[t]) continue;
      const double of_shard = static_cast<double>(accesses[t]->total()) / request.shards;
      for (const TableAccesses::Row& row : accesses[t]->hottest) {
        const double share = static_cast<double>(row.count) / of_shard;
        if (request.shards > 1 && share > kHotShare) rows.push_back({t, row.row, share});
      }
    }
    std::ranges::sort(rows, [](const HotRow& a, const HotRow& b) {
      return std::tuple(-a.share, a.table, a.row) < std::tuple(-b.share, b.table, b.row);
    });
    if (rows.size() > request.options.hot_rows) rows.resize(request.options.hot_rows);
    std::vector<std::vector<RowId>> by_table(accesses.size());
    for (const HotRow& row : rows) by_table[row.table].push_back(RowId{row.row});
    for (std::vector<RowId>& of_table : by_table) std::ranges::sort(of_table);
    return by_table;
  }
};

REGISTER_MEMBER(AddShardingStrategy<SkewAware>("skew_aware",
                                               {.divides_tables = true, .needs_counts = true}));

}  // namespace
}  // namespace rowhouse
