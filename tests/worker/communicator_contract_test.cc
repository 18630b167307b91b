// The contract for communicators inside one process; tests/mpi/communicator_ranks.cc runs it on
// real ranks.
#include "tests/testing/communicator_contract.h"

#include <thread>

#include "tests/testing/thread_communicator.h"
#include "worker/mpi/communicator.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

TEST(SoloCommunicator, KeepsTheContract) {
  ExpectCommunicatorContract(MakeSoloCommunicator().get());
}

class ThreadCommunicators : public testing::TestWithParam<uint32_t> {};

TEST_P(ThreadCommunicators, KeepTheContract) {
  auto communicators = MakeThreadCommunicators(GetParam());
  std::vector<std::jthread> threads;
  for (auto& communicator : communicators) {
    threads.emplace_back([&communicator] { ExpectCommunicatorContract(communicator.get()); });
  }
}

INSTANTIATE_TEST_SUITE_P(Workers, ThreadCommunicators, testing::Values(1u, 2u, 3u, 5u));

TEST(ThreadCommunicators, NameTheOneThatDidNotComeAndStayBroken) {
  auto communicators = MakeThreadCommunicators(3, /*deadline_ms=*/30);
  std::vector<Status> statuses(3);
  {
    std::vector<std::jthread> threads;
    for (const size_t rank : {0u, 1u}) {
      threads.emplace_back([&, rank] {
        std::vector<float> values(4, 1.0f);
        statuses[rank] = communicators[rank]->SumInRankOrder(values, "step 12, dense gradients");
      });
    }
  }
  for (const size_t rank : {0u, 1u}) {
    EXPECT_EQ(statuses[rank].code(), StatusCode::kDeadlineExceeded);
    EXPECT_EQ(statuses[rank].message(),
              "step 12, dense gradients: worker 2 (rank 2 on thread) did not come within 30 ms; "
              "the others wait in the same phase");
  }
  EXPECT_EQ(communicators[2]->AllGather({}, "late").status().message(), statuses[0].message());
}

TEST(ThreadCommunicators, WaitOnAsLongAsTheirPatienceSays) {
  auto communicators = MakeThreadCommunicators(2, /*deadline_ms=*/10);
  std::jthread late;
  int asked = 0;
  communicators[0]->set_patience([&](uint32_t waited_ms, const std::string& phase) {
    EXPECT_EQ(waited_ms, 10u);
    EXPECT_EQ(phase, "gather");
    if (++asked == 3) late = std::jthread([&] { ExpectGathers(communicators[1].get(), 0); });
    return true;
  });
  ExpectGathers(communicators[0].get(), 0);
  EXPECT_GE(asked, 3);
}

}  // namespace
}  // namespace rowhouse
