#include <thread>

#include "common/transport/zeromq_context.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

void CountRelease(void* data, void* hint) {
  delete static_cast<std::byte*>(data);
  static_cast<std::atomic<int>*>(hint)->fetch_add(1);
}

TEST(ReleaseListThreads, EveryLoanIsFreedOnceByWhoeverIsThere) {
  constexpr int kLoans = 2000;
  std::atomic<int> released = 0;
  {
    ReleaseList list;
    std::vector<std::jthread> threads;
    for (int lender = 0; lender < 2; ++lender) {  // as I/O threads return them
      threads.emplace_back([&] {
        for (int i = 0; i < kLoans; ++i) {
          ReleaseList::Return(nullptr,
                              list.Lend(Frame(new std::byte, 1, &CountRelease, &released)));
        }
      });
    }
    for (int user = 0; user < 2; ++user) {  // as shards' threads free them
      threads.emplace_back([&] {
        while (released.load() < kLoans) list.FreeAll();
      });
    }
  }
  EXPECT_EQ(released.load(), 2 * kLoans);
}

}  // namespace
}  // namespace rowhouse
