#include "ps/cache/cache_ledger.h"

#include <glog/logging.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace rowhouse {
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
