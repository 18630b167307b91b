#include "ps/cache/cache_ledger.h"

#include "tests/testing/testing.h"
// GoogleTest first.
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

namespace rowhouse {
namespace {

using testing::ElementsAre;

// Misses nothing from `rows` cached rows of 10 bytes on, and falls to that in a straight line.
TableDemand DemandOfSlice(double accesses, double rows, uint64_t has_bytes) {
  return {.bytes = 1'000'000,
          .row_bytes = 10,
          .accesses = accesses,
          .miss_ratio = [rows](double cached) { return std::max(0.0, 1.0 - cached / rows); },
          .has_bytes = has_bytes};
}

TEST(CacheLedger, BytesAreGrantedWhenOthersSayThatTheyGaveThemBack) {
  CacheLedger ledger(10'000, {{.bytes = 5000, .asks = true}, {.bytes = 5000, .asks = true}});
  CacheDemands hot{.round = 1, .fixed_bytes = 0, .slices = {DemandOfSlice(100'000, 1000, 5000)}};
  CacheDemands cold{.round = 1, .fixed_bytes = 1000, .slices = {DemandOfSlice(10, 1000, 4000)}};

  const CacheGrant alone = ledger.Ask(0, hot);
  EXPECT_THAT(alone.bytes, ElementsAre(5000u)) << "nothing is decided before all have asked";
  EXPECT_FALSE(alone.is_settled);
  const CacheGrant less = ledger.Ask(1, cold);
  EXPECT_THAT(less.bytes, ElementsAre(0u));
  EXPECT_FALSE(less.is_settled);
  EXPECT_THAT(ledger.Ask(0, hot).bytes, ElementsAre(5000u)) << "the other has not shrunk yet";
  EXPECT_EQ(ledger.held_bytes(), 10'000u);

  cold.slices[0].has_bytes = 0;
  EXPECT_TRUE(ledger.Ask(1, cold).is_settled);
  EXPECT_EQ(ledger.held_bytes(), 6000u);
  EXPECT_THAT(ledger.Ask(0, hot).bytes, ElementsAre(9000u));
  EXPECT_EQ(ledger.held_bytes(), 10'000u);
  hot.slices[0].has_bytes = 9000;
  EXPECT_TRUE(ledger.Ask(0, hot).is_settled);
}

TEST(CacheLedger, AShardMayGrowByWhatItShrinks) {
  CacheLedger ledger(10'000, {{.bytes = 10'000, .asks = true}});
  const CacheGrant grant = ledger.Ask(
      0, {.round = 1,
          .fixed_bytes = 0,
          .slices = {DemandOfSlice(10, 1000, 5000), DemandOfSlice(100'000, 1000, 5000)}});
  EXPECT_THAT(grant.bytes, ElementsAre(0u, 10'000u));
  EXPECT_FALSE(grant.is_settled) << "it has to say when that is so";
}

TEST(CacheLedger, WhatAShardDoesNotNeedIsForOthers) {
  // The second holds all its rows and never asks.
  CacheLedger ledger(10'000, {{.bytes = 5000, .asks = true}, {.bytes = 1000, .asks = false}});
  CacheDemands demands{.round = 1, .fixed_bytes = 0, .slices = {DemandOfSlice(1000, 1000, 5000)}};
  EXPECT_THAT(ledger.Ask(0, demands).bytes, ElementsAre(9000u));
}

TEST(CacheLedger, NextRoundsBeginWhenAllHaveWhatWasDecided) {
  CacheLedger ledger(10'000, {{.bytes = 5000, .asks = true}, {.bytes = 5000, .asks = true}});
  CacheDemands first{.round = 1, .fixed_bytes = 0, .slices = {DemandOfSlice(100'000, 1000, 5000)}};
  CacheDemands second{.round = 1, .fixed_bytes = 0, .slices = {DemandOfSlice(10, 1000, 5000)}};
  ledger.Ask(0, first);
  ledger.Ask(1, second);
  // The second is slow, and by then the other way round would be better.
  first.round = second.round = 2;
  first.slices[0].accesses = 10;
  second.slices[0].accesses = 100'000;
  ledger.Ask(0, first);
  EXPECT_THAT(ledger.Ask(1, second).bytes, ElementsAre(0u)) << "what was decided is done first";
  second.slices[0].has_bytes = 0;
  ledger.Ask(1, second);
  EXPECT_THAT(ledger.Ask(0, first).bytes, ElementsAre(10'000u));
  first.slices[0].has_bytes = 10'000;
  EXPECT_THAT(ledger.Ask(0, first).bytes, ElementsAre(0u)) << "the second round";
}

// Shards ask in any order, whenever they like; each then has what it was granted.
RC_GTEST_PROP(CacheLedgerProperty, ShardsNeverHoldMoreThanTheBudgetAndAllSettle, ()) {
  constexpr uint64_t kBudget = 60'000;
  const auto shards = *rc::gen::inRange<size_t>(1, 5);
  std::vector<CacheLedger::Shard> accounts;
  std::vector<CacheDemands> says;
  for (size_t s = 0; s < shards; ++s) {
    CacheDemands demands;
    demands.fixed_bytes = *rc::gen::inRange<uint64_t>(0, 3000);
    for (size_t i = *rc::gen::inRange<size_t>(1, 4); i > 0; --i) {
      demands.slices.push_back(
          DemandOfSlice(0, *rc::gen::inRange(1, 4000), *rc::gen::inRange<uint64_t>(0, 4000)));
    }
    uint64_t bytes = demands.fixed_bytes;
    for (const TableDemand& slice : demands.slices) bytes += slice.has_bytes;
    accounts.push_back({.bytes = bytes, .asks = true});
    says.push_back(std::move(demands));
  }
  CacheLedger ledger(kBudget, accounts);
  for (uint64_t round = 1; round <= 3; ++round) {
    for (CacheDemands& demands : says) {
      demands.round = round;
      for (TableDemand& slice : demands.slices) slice.accesses = *rc::gen::inRange(0, 100'000);
    }
    std::vector<bool> settled(shards, false);
    size_t asked = 0;
    const auto ask = [&](size_t s) {
      const CacheGrant grant = ledger.Ask(s, says[s]);
      settled[s] = grant.is_settled;
      RC_ASSERT(ledger.held_bytes() <= kBudget);
      uint64_t held = 0;
      for (size_t i = 0; i < grant.bytes.size(); ++i) says[s].slices[i].has_bytes = grant.bytes[i];
      for (const CacheDemands& demands : says) {
        held += demands.fixed_bytes;
        for (const TableDemand& slice : demands.slices) held += slice.has_bytes;
      }
      RC_ASSERT(held <= kBudget);
    };
    for (; asked < 20; ++asked) ask(*rc::gen::inRange<size_t>(0, shards));
    // Whoever is not settled asks at its next step.
    for (; !std::ranges::all_of(settled, std::identity()); ++asked) {
      RC_ASSERT(asked < 100);
      for (size_t s = 0; s < shards; ++s) {
        if (!settled[s]) ask(s);
      }
    }
  }
}

}  // namespace
}  // namespace rowhouse
