#include "worker/embedding/slices.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TEST(Slices, AreDlrms) {
  const auto vectors = LoadVectors("parallel.json");
  ASSERT_FALSE(vectors["dlrm_slice"].empty());
  for (const auto& split : vectors["dlrm_slice"]) {
    const auto workers = split["size"].get<uint32_t>();
    ASSERT_EQ(split["slices"].size(), workers);
    for (uint32_t w = 0; w < workers; ++w) {
      const SampleSlice slice = SliceOf(split["n"].get<uint64_t>(), workers, WorkerRank{w});
      EXPECT_EQ(slice.first, split["slices"][w][0].get<uint64_t>());
      EXPECT_EQ(slice.first + slice.count, split["slices"][w][1].get<uint64_t>());
    }
  }
}

TEST(Slices, AreTheStridesOfAnAllToAll) {
  const auto vectors = LoadVectors("parallel.json");
  for (const auto& split : vectors["gather_scatter_strides"]) {
    const auto workers = split["world"].get<uint32_t>();
    for (uint32_t w = 0; w < workers; ++w) {
      EXPECT_EQ(SliceOf(split["batch"].get<uint64_t>(), workers, WorkerRank{w}).count,
                split["strides"][w].get<uint64_t>());
    }
  }
  const auto& tablewise = vectors["tablewise"];
  for (uint32_t w = 0; w < 2; ++w) {
    EXPECT_EQ(SliceOf(tablewise["batch"].get<uint64_t>(), 2, WorkerRank{w}).count,
              tablewise["batch_split_world2"][w].get<uint64_t>());
  }
}

TEST(Slices, WorkersBeyondTheSamplesTakeNone) {
  EXPECT_EQ(SliceOf(2, 3, WorkerRank{0}), (SampleSlice{0, 1}));
  EXPECT_EQ(SliceOf(2, 3, WorkerRank{1}), (SampleSlice{1, 1}));
  EXPECT_EQ(SliceOf(2, 3, WorkerRank{2}), (SampleSlice{2, 0}));
  EXPECT_EQ(SliceOf(0, 1, WorkerRank{0}), (SampleSlice{0, 0}));
}

RC_GTEST_PROP(SlicesProperty, TheyTileTheBatchAndDifferByOneAtMost, ()) {
  const auto batch_size = *rc::gen::inRange<uint64_t>(0, 100000);
  const auto workers = *rc::gen::inRange<uint32_t>(1, 300);
  uint64_t next = 0;
  for (uint32_t w = 0; w < workers; ++w) {
    const SampleSlice slice = SliceOf(batch_size, workers, WorkerRank{w});
    RC_ASSERT(slice.first == next);
    RC_ASSERT(slice.count - batch_size / workers <= 1);
    next += slice.count;
  }
  RC_ASSERT(next == batch_size);
}

}  // namespace
}  // namespace rowhouse
