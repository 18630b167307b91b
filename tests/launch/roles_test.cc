#include "launch/roles.h"

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TEST(Roles, OnOneHostTheFirstRanksArePsNodes) {
  const Roles roles = DealRoles({"a", "a", "a", "a"}, 2).value();
  EXPECT_EQ(roles.ps, (std::vector<int>{0, 1}));
  EXPECT_EQ(roles.workers, (std::vector<int>{2, 3}));
}

TEST(Roles, PsNodesAreSpreadOverHostsThatMpirunFilledOneByOne) {
  const Roles roles = DealRoles({"a", "a", "a", "b", "b", "b"}, 2).value();
  EXPECT_EQ(roles.ps, (std::vector<int>{0, 3}));
}

TEST(Roles, AHostGivesItsLastRankOnlyWhenNoOtherCan) {
  EXPECT_EQ(DealRoles({"a", "b", "b", "b"}, 2).value().ps, (std::vector<int>{1, 2}));
  EXPECT_EQ(DealRoles({"a", "b", "b"}, 2).value().ps, (std::vector<int>{0, 1}));
}

TEST(Roles, SomeRankMustBeLeftToWork) {
  const Status status = DealRoles({"a", "a"}, 2).status();
  EXPECT_EQ(status.code(), StatusCode::kUsage);
  EXPECT_THAT(status.message(), testing::HasSubstr("-n 3 or more"));
}

}  // namespace
}  // namespace rowhouse
