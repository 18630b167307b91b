#include "ps/cache/cache_ledger.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

namespace rowhouse {
namespace {

constexpr uint64_t kParts = 256;  // points at which a hull is evaluated

double MissesOf(const TableDemand& table, uint64_t bytes) {
  return table.accesses *
         table.miss_ratio(static_cast<double>(bytes) / static_cast<double>(table.row_bytes));
}

uint64_t MostOf(const TableDemand& table) { return std::min(table.bytes, table.most_bytes); }

// A segment of a table's hull: each of these bytes saves this many misses.
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

struct Granted {
  std::vector<uint64_t> bytes;  // of each table
  size_t cut;                   // the stretch that was granted in part; their number if none was
};

// `bytes`, and `budget` bytes for stretches, the first ones first.
Granted Grant(const std::vector<Stretch>& stretches, std::vector<uint64_t> bytes, uint64_t budget) {
  size_t cut = stretches.size();
  for (size_t i = 0; i < stretches.size(); ++i) {
    const uint64_t granted = std::min(stretches[i].bytes, budget);
    if (granted > 0 && granted < stretches[i].bytes) cut = i;
    bytes[stretches[i].table] += granted;
    budget -= granted;
  }
  return {.bytes = std::move(bytes), .cut = cut};
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
  Granted best = Grant(stretches, bytes, budget);
  if (best.cut == stretches.size()) return best.bytes;
  // A part of a segment may save nothing, as of one that ends where a table is whole. Then the
  // bytes are better spent on that segment whole, or on the other tables.
  const auto cut = static_cast<ptrdiff_t>(best.cut);
  const auto is_of_cut = [table = stretches[best.cut].table](const Stretch& stretch) {
    return stretch.table == table;
  };
  std::vector<Stretch> first = stretches, last = stretches;
  std::stable_partition(first.begin(), first.begin() + cut + 1, is_of_cut);
  std::stable_partition(last.begin() + cut, last.end(), std::not_fn(is_of_cut));
  for (const std::vector<Stretch>& order : {first, last}) {
    Granted other = Grant(order, bytes, budget);
    if (PredictedMisses(tables, other.bytes) < PredictedMisses(tables, best.bytes))
      best = std::move(other);
  }
  return best.bytes;
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

namespace {

uint64_t BytesOf(const CacheDemands& demands) {
  uint64_t bytes = demands.fixed_bytes;
  for (const TableDemand& slice : demands.slices) bytes += slice.has_bytes;
  return bytes;
}

}  // namespace

CacheLedger::CacheLedger(uint64_t budget_bytes, const std::vector<Shard>& shards,
                         uint64_t most_moved_bytes)
    : budget_bytes_(budget_bytes), most_moved_bytes_(most_moved_bytes) {
  MutexLock lock(mutex_);
  for (const Shard& shard : shards) {
    Account account;
    account.held = shard.bytes;
    account.asks = shard.asks;
    accounts_.push_back(std::move(account));
  }
  CHECK_LE(Held(), budget_bytes_);
}

bool CacheLedger::Account::is_moving() const {
  for (size_t i = 0; i < targets.size(); ++i) {
    if (said.slices[i].has_bytes != targets[i]) return true;
  }
  return false;
}

CacheGrant CacheLedger::Ask(size_t shard, CacheDemands demands) {
  MutexLock lock(mutex_);
  Account& mine = accounts_.at(shard);
  CHECK(mine.asks) << "shard " << shard << " said it would never ask";
  CHECK(!mine.has_asked || mine.said.slices.size() == demands.slices.size());
  mine.said = std::move(demands);
  mine.has_asked = true;
  mine.held = BytesOf(mine.said);
  if (IsRoundComplete()) Decide();

  const std::vector<TableDemand>& slices = mine.said.slices;
  CacheGrant grant{.bytes = {}, .is_settled = mine.said.round <= decided_round_};
  uint64_t bytes = mine.said.fixed_bytes;
  for (size_t i = 0; i < slices.size(); ++i) {
    const uint64_t target = mine.targets.empty() ? slices[i].has_bytes : mine.targets[i];
    grant.bytes.push_back(std::min(slices[i].has_bytes, target));
    bytes += grant.bytes.back();
  }
  // A slice grows only when it can grow by all at once, as each resize moves its rows.
  const uint64_t room = budget_bytes_ - (Held() - mine.held);
  for (size_t i = 0; i < mine.targets.size(); ++i) {
    const uint64_t missing = mine.targets[i] - grant.bytes[i];
    if (missing > room - std::min(room, bytes)) continue;
    grant.bytes[i] += missing;
    bytes += missing;
  }
  mine.held = std::max(mine.held, bytes);
  grant.is_settled = grant.is_settled && !mine.is_moving();
  return grant;
}

// Waits until the shards have carried out the last decision.
bool CacheLedger::IsRoundComplete() const {
  const uint64_t decided = decided_round_;
  return std::ranges::all_of(accounts_, [decided](const Account& account) {
    return !account.asks ||
           (account.has_asked && account.said.round > decided && !account.is_moving());
  });
}

void CacheLedger::Decide() {
  uint64_t budget = budget_bytes_;
  uint64_t round = std::numeric_limits<uint64_t>::max();
  std::vector<TableDemand> all;
  for (const Account& account : accounts_) {
    budget -= std::min(budget, account.asks ? account.said.fixed_bytes : account.held);
    if (!account.asks) continue;
    round = std::min(round, account.said.round);
    all.insert(all.end(), account.said.slices.begin(), account.said.slices.end());
  }
  decided_round_ = round;
  const std::vector<uint64_t> bytes =
      MoveBudget(all, budget, /*least_saving=*/0.05, most_moved_bytes_);
  auto next = bytes.begin();
  for (Account& account : accounts_) {
    if (!account.asks) continue;
    const auto count = static_cast<std::ptrdiff_t>(account.said.slices.size());
    account.targets.assign(next, next + count);
    next += count;
  }
}

uint64_t CacheLedger::Held() const {
  uint64_t bytes = 0;
  for (const Account& account : accounts_) bytes += account.held;
  return bytes;
}

uint64_t CacheLedger::held_bytes() const {
  MutexLock lock(mutex_);
  return Held();
}

}  // namespace rowhouse
