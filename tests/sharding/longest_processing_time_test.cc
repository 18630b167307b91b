// Longest processing time first: by hand, and against every assignment of small instances.
#include "sharding/tables/longest_processing_time.h"

#include "tests/testing/testing.h"
// After gtest's, which testing.h includes.
#include <rapidcheck/gtest.h>

#include <numeric>

namespace rowhouse {
namespace {

using LongestProcessingTimeGroups = std::vector<std::vector<uint32_t>>;
using LongestProcessingTimeSizes = std::vector<uint64_t>;

LongestProcessingTimeGroups Equal(const LongestProcessingTimeSizes& sizes, uint32_t ranks) {
  return LongestProcessingTime(sizes, std::vector<uint32_t>(ranks, 1));
}

uint64_t Load(const LongestProcessingTimeSizes& sizes, const std::vector<uint32_t>& items) {
  uint64_t load = 0;
  for (const uint32_t item : items) load += sizes[item];
  return load;
}

uint64_t MaxLoad(const LongestProcessingTimeSizes& sizes,
                 const LongestProcessingTimeGroups& groups) {
  uint64_t largest = 0;
  for (const auto& items : groups) largest = std::max(largest, Load(sizes, items));
  return largest;
}

// Every one of ranks^items assignments.
template <typename Worst>
double LeastOverAllAssignments(size_t items, uint32_t ranks, const Worst& worst) {
  double least = std::numeric_limits<double>::infinity();
  std::vector<uint32_t> rank_of(items, 0);
  while (true) {
    LongestProcessingTimeGroups groups(ranks);
    for (uint32_t item = 0; item < items; ++item) groups[rank_of[item]].push_back(item);
    least = std::min(least, worst(groups));
    size_t digit = 0;
    while (digit < items && ++rank_of[digit] == ranks) rank_of[digit++] = 0;
    if (digit == items) return least;
  }
}

// Sizes from the whole range, in the first of RapidCheck's cases too.
LongestProcessingTimeSizes AnySizes(size_t most_items) {
  return *rc::gen::resize(
      rc::kNominalSize,
      rc::gen::mapcat(rc::gen::inRange<size_t>(1, most_items + 1), [](size_t items) {
        return rc::gen::container<LongestProcessingTimeSizes>(items,
                                                              rc::gen::inRange<uint64_t>(1, 60));
      }));
}

TEST(LongestProcessingTime, DealsTheLargestFirstToTheLeastLoaded) {
  // 9 and 8 open the ranks, 7 joins 8 (15), 6 joins 9 (15), 5 the lower rank (20), 4 the other.
  EXPECT_EQ(Equal({9, 8, 7, 6, 5, 4}, 2), (LongestProcessingTimeGroups{{0, 3, 4}, {1, 2, 5}}));
  EXPECT_EQ(Equal({4, 4, 4}, 2), (LongestProcessingTimeGroups{{0, 2}, {1}}))
      << "ties: lower item, lower rank";
  EXPECT_EQ(Equal({3}, 2), (LongestProcessingTimeGroups{{0}, {}}));
  EXPECT_EQ(Equal({}, 1), LongestProcessingTimeGroups{{}});
}

TEST(LongestProcessingTime, ALargerRankTakesMore) {
  // Capacities 3 and 1; after each item the larger load / capacity of the two choices decides.
  const LongestProcessingTimeSizes sizes = {6, 4, 3, 3};
  EXPECT_EQ(LongestProcessingTime(sizes, std::vector<uint32_t>{3, 1}),
            (LongestProcessingTimeGroups{{0, 1, 3}, {2}}));
  EXPECT_EQ(LongestProcessingTime(sizes, std::vector<uint32_t>{1, 3}),
            (LongestProcessingTimeGroups{{2}, {0, 1, 3}}));
  EXPECT_EQ(LongestProcessingTime(sizes, std::vector<uint32_t>{7, 7}), Equal(sizes, 2));
}

TEST(LongestProcessingTime, SizesBeyondADoubleAreCompared) {
  const uint64_t huge = uint64_t{1} << 60;
  EXPECT_EQ(Equal({huge, huge + 1, 1, 1}, 2), (LongestProcessingTimeGroups{{1, 3}, {0, 2}}));
}

TEST(MaxLoadLowerBound, IsTheMeanRoundedUpOrTheLargest) {
  EXPECT_EQ(MaxLoadLowerBound(LongestProcessingTimeSizes{5, 4, 2}, 2), 6u);
  EXPECT_EQ(MaxLoadLowerBound(LongestProcessingTimeSizes{9, 1, 2}, 2), 9u);
}

TEST(OptimalMaxLoad, BeatsGreedyWhereItErrs) {
  const LongestProcessingTimeSizes sizes = {3, 3, 2, 2, 2};
  EXPECT_EQ(OptimalMaxLoad(sizes, 2), 6u);
  EXPECT_EQ(MaxLoad(sizes, Equal(sizes, 2)), 7u);
  EXPECT_EQ(OptimalMaxLoad(sizes, 9), 3u) << "more ranks than items";
  EXPECT_EQ(OptimalMaxLoad(LongestProcessingTimeSizes(12, 1), 5), 3u);
}

RC_GTEST_PROP(LongestProcessingTime, IsWithinFourThirdsOfTheOptimum, ()) {
  const auto ranks = *rc::gen::element<uint32_t>(1, 2, 3);
  const LongestProcessingTimeSizes sizes = AnySizes(7);
  const auto optimum = static_cast<uint64_t>(
      LeastOverAllAssignments(sizes.size(), ranks, [&](const LongestProcessingTimeGroups& groups) {
        return static_cast<double>(MaxLoad(sizes, groups));
      }));
  RC_ASSERT(OptimalMaxLoad(sizes, ranks) == optimum);
  RC_ASSERT(MaxLoadLowerBound(sizes, ranks) <= optimum);
  // Graham's bound, 4/3 - 1/(3 ranks), without fractions.
  RC_ASSERT(MaxLoad(sizes, Equal(sizes, ranks)) * 3 * ranks <= optimum * (4 * ranks - 1));
}

RC_GTEST_PROP(LongestProcessingTime, WithCapacitiesIsWithinTwiceTheOptimum, ()) {
  const auto capacities = *rc::gen::container<std::vector<uint32_t>>(
      *rc::gen::inRange<size_t>(1, 4), rc::gen::inRange<uint32_t>(1, 9));
  const LongestProcessingTimeSizes sizes = AnySizes(6);
  const auto worst = [&](const LongestProcessingTimeGroups& groups) {
    double largest = 0;
    for (size_t rank = 0; rank < groups.size(); ++rank) {
      largest = std::max(largest, static_cast<double>(Load(sizes, groups[rank])) /
                                      static_cast<double>(capacities[rank]));
    }
    return largest;
  };
  const double optimum =
      LeastOverAllAssignments(sizes.size(), static_cast<uint32_t>(capacities.size()), worst);
  RC_ASSERT(worst(LongestProcessingTime(sizes, capacities)) <= 2 * optimum + 1e-9);
}

}  // namespace
}  // namespace rowhouse
