#include "ps/cache/cache_budget.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>

namespace rowhouse {
namespace {

constexpr uint64_t kParts = 256;  // points at which a hull is evaluated

double MissesOf(const TableDemand& table, uint64_t bytes) {
  return table.accesses *
         table.miss_ratio(static_cast<double>(bytes) / static_cast<double>(table.row_bytes));
}

uint64_t MostOf(const TableDemand& table) { return std::min(table.bytes, table.most_bytes); }

// A segment of a table's hull: each of these bytes saves so many misses.
struct Stretch {
  size_t table;
  uint64_t bytes;
  double saved_per_byte;
};

// The lower convex hull of misses over bytes, from `least` to `budget` more, as segments whose
// bytes save less and less.
void AddHull(const TableDemand& table, size_t number, uint64_t least, uint64_t budget,
             std::vector<Stretch>* stretches) {
  struct Point {
    uint64_t bytes;
    double misses;
  };
  const auto slope = [](const Point& from, const Point& to) {
    return (from.misses - to.misses) / static_cast<double>(to.bytes - from.bytes);
  };
  const uint64_t more = std::min(MostOf(table) - least, budget);
  std::vector<Point> hull = {{least, MissesOf(table, least)}};
  for (uint64_t part = 1; part <= kParts && more > 0; ++part) {
    const uint64_t bytes =
        least + static_cast<uint64_t>(static_cast<unsigned __int128>(more) * part / kParts);
    if (bytes == hull.back().bytes) continue;
    // A table that is in memory as a whole never misses, not even at first accesses.
    const Point point{bytes, bytes == table.bytes ? 0.0 : MissesOf(table, bytes)};
    while (hull.size() > 1 &&
           slope(hull[hull.size() - 2], hull.back()) <= slope(hull.back(), point)) {
      hull.pop_back();
    }
    hull.push_back(point);
  }
  for (size_t i = 1; i < hull.size(); ++i) {
    stretches->push_back({number, hull[i].bytes - hull[i - 1].bytes, slope(hull[i - 1], hull[i])});
  }
}

}  // namespace

double PredictedMisses(const std::vector<TableDemand>& tables, const std::vector<uint64_t>& bytes) {
  CHECK_EQ(tables.size(), bytes.size());
  double misses = 0.0;
  for (size_t i = 0; i < tables.size(); ++i) {
    if (bytes[i] < tables[i].bytes) misses += MissesOf(tables[i], bytes[i]);
  }
  return misses;
}

std::vector<uint64_t> SplitBudget(const std::vector<TableDemand>& tables, uint64_t budget) {
  std::vector<uint64_t> bytes;
  for (const TableDemand& table : tables) {
    bytes.push_back(std::min({table.least_bytes, MostOf(table), budget}));
    budget -= bytes.back();
  }
  std::vector<Stretch> stretches;
  for (size_t i = 0; i < tables.size(); ++i) {
    AddHull(tables[i], i, bytes[i], budget, &stretches);
  }
  // Stable: segments of one table keep their order.
  std::ranges::stable_sort(stretches, std::greater(), &Stretch::saved_per_byte);
  for (const Stretch& stretch : stretches) {
    const uint64_t granted = std::min(stretch.bytes, budget);
    bytes[stretch.table] += granted;
    budget -= granted;
  }
  return bytes;
}

std::vector<uint64_t> MoveBudget(const std::vector<TableDemand>& tables, uint64_t budget,
                                 double least_saving, uint64_t most_moved) {
  std::vector<uint64_t> now;
  uint64_t all = 0;
  for (const TableDemand& table : tables) {
    now.push_back(table.has_bytes);
    all += table.has_bytes;
  }
  std::vector<uint64_t> split = SplitBudget(tables, budget);
  if (all > budget) return split;
  const double misses = PredictedMisses(tables, now);
  if (misses <= 0.0 || misses - PredictedMisses(tables, split) < least_saving * misses) return now;
  uint64_t moved = 0;
  for (size_t i = 0; i < now.size(); ++i) moved += std::max(split[i], now[i]) - now[i];
  if (moved <= most_moved) return split;
  const double part = static_cast<double>(most_moved) / static_cast<double>(moved);
  for (size_t i = 0; i < now.size(); ++i) {
    const double change = part * (static_cast<double>(split[i]) - static_cast<double>(now[i]));
    // Rounded down: a table gives at most a byte more, and gets at most a byte less.
    split[i] = now[i] + static_cast<uint64_t>(static_cast<int64_t>(std::floor(change)));
  }
  return split;
}

}  // namespace rowhouse
