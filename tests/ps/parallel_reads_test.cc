#include "ps/store/parallel_reads.h"

#include <array>
#include <atomic>
#include <barrier>
#include <thread>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TEST(ParallelReads, EachIndexIsWorkedOnOnceWhateverTheThreads) {
  for (const size_t threads : {1, 2, 5}) {
    ParallelReads reads(threads);
    for (const size_t n : {0, 1, 2, 7, 300}) {
      std::vector<std::atomic<int>> times(n);
      reads.Run(n, [&](size_t thread, size_t i) {
        EXPECT_LT(thread, threads);
        ++times[i];
      });
      for (size_t i = 0; i < n; ++i) EXPECT_EQ(times[i], 1) << i;
    }
  }
}

// Would not end if fewer than 4 threads worked.
TEST(ParallelReads, AsManyWorkAtOnceAsWereAskedFor) {
  ParallelReads reads(4);
  std::barrier all_here(4);
  std::array<std::atomic<bool>, 4> is_used = {};
  reads.Run(4, [&](size_t thread, size_t) {
    EXPECT_FALSE(is_used[thread].exchange(true));  // A number no other has.
    all_here.arrive_and_wait();
  });
}

TEST(ParallelReads, AllThreadsGetAsManyCalls) {
  const ParallelReads reads(4);
  EXPECT_EQ(reads.RowsOfCall(40, 2, 16), 10u);
  EXPECT_EQ(reads.RowsOfCall(64, 2, 16), 16u);
  EXPECT_EQ(reads.RowsOfCall(65, 2, 16), 9u);  // Eight calls, two a thread.
  EXPECT_EQ(reads.RowsOfCall(3, 2, 16), 2u);
  EXPECT_EQ(reads.RowsOfCall(0, 2, 16), 2u);
}

TEST(ParallelReads, SeveralCallersShareTheHelpers) {
  ParallelReads reads(3);
  std::atomic<uint64_t> sum = 0;
  {
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < 4; ++caller) {
      callers.emplace_back([&] {
        for (int round = 0; round < 200; ++round) {
          reads.Run(10, [&](size_t, size_t i) { sum += i; });
        }
      });
    }
  }
  EXPECT_EQ(sum, 4u * 200u * 45u);
}

}  // namespace
}  // namespace rowhouse
