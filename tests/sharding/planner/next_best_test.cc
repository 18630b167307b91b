#include "sharding/planner/next_best.h"

#include <gtest/gtest.h>

namespace rowhouse {
namespace {

TEST(NextBest, SaysWhatTheStepWouldTake) {
  const NextBest next = {.how = "whole on a shard", .ms = 6.6};
  EXPECT_EQ(NextBestText(next, 6.0),
            "the next best, whole on a shard, takes 6.60 ms a step, 10.0 % longer");
  EXPECT_EQ(NextBestText(next, 6.6),
            "the next best, whole on a shard, takes 6.60 ms a step, as long");
  // A plan that was made more even may be a little slower.
  EXPECT_EQ(NextBestText(next, 6.63),
            "the next best, whole on a shard, takes 6.60 ms a step, 0.5 % less");
}

}  // namespace
}  // namespace rowhouse
