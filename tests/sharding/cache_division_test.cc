#include "sharding/plans/cache_division.h"

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::ElementsAre;

TEST(CacheDivision, EqualSharesGoOnToThoseThatWantMore) {
  EXPECT_THAT(EqualShares({100, 10, 1000}, 150), ElementsAre(70u, 10u, 70u));
  EXPECT_THAT(EqualShares({100, 10, 1000}, 500), ElementsAre(100u, 10u, 390u));
  EXPECT_THAT(EqualShares({100, 10, 1000}, 5000), ElementsAre(100u, 10u, 1000u));
  EXPECT_THAT(EqualShares({7, 7, 7}, 20), ElementsAre(6u, 7u, 7u)) << "all of it is dealt";
  EXPECT_THAT(EqualShares({}, 20), ElementsAre());
}

CachedSlice Of(uint32_t table, uint64_t bytes, std::optional<double> share = std::nullopt) {
  return {.table = TableId{table}, .bytes = bytes, .table_share = share};
}

TEST(CacheDivision, WithoutSharesIsEqual) {
  EXPECT_THAT(DivideCache({Of(0, 100), Of(1, 10), Of(2, 1000)}, 150), ElementsAre(70u, 10u, 70u));
}

TEST(CacheDivision, SharesComeFirstAndTheRestIsDealtToTheOthers) {
  EXPECT_THAT(DivideCache({Of(0, 5000, 0.9), Of(1, 5000, 0.1)}, 1000), ElementsAre(900u, 100u));
  EXPECT_THAT(DivideCache({Of(0, 5000, 0.5), Of(1, 5000), Of(2, 5000)}, 1000),
              ElementsAre(500u, 250u, 250u));
  EXPECT_THAT(DivideCache({Of(0, 5000, 0.0), Of(1, 5000)}, 1000), ElementsAre(0u, 1000u));
}

TEST(CacheDivision, WhatATableDoesNotWantOfItsShareGoesOn) {
  EXPECT_THAT(DivideCache({Of(0, 300, 0.9), Of(1, 5000, 0.1)}, 1000), ElementsAre(300u, 700u));
  EXPECT_THAT(DivideCache({Of(0, 300, 0.9), Of(1, 200), Of(2, 5000, 0.1)}, 1000),
              ElementsAre(300u, 200u, 500u));
  EXPECT_THAT(DivideCache({Of(0, 300, 0.5), Of(1, 200, 0.5)}, 1000), ElementsAre(300u, 200u));
}

TEST(CacheDivision, SlicesOfATableShareItsPartByTheirBytes) {
  EXPECT_THAT(DivideCache({Of(0, 3000, 0.8), Of(0, 1000, 0.8), Of(1, 5000, 0.2)}, 1000),
              ElementsAre(600u, 200u, 200u));
}

}  // namespace
}  // namespace rowhouse
