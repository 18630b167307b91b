#include "worker/mpi/roll_call.h"

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

const std::vector<WorkerAddress> kAddresses = {{.mpi_rank = 1, .host = "hostA"},
                                               {.mpi_rank = 2, .host = "hostA"},
                                               {.mpi_rank = 4, .host = "hostB"}};
const std::string kPhase = "step 12, dense gradients";

std::string Describe(std::vector<std::optional<RollCallAnswer>> answers) {
  const Status status = DescribeRollCall(
      {.self = WorkerRank{0}, .answers = std::move(answers), .deadline_ms = 30000}, kAddresses);
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
  return status.message();
}

const RollCallAnswer kWaits = {.phase = kPhase};

TEST(RollCall, ASilentWorkerIsNamedWithRankAndHost) {
  EXPECT_EQ(Describe({kWaits, kWaits, std::nullopt}),
            "step 12, dense gradients: worker 2 (rank 4 on hostB) did not come within 30000 ms; "
            "the others wait in the same phase");
  EXPECT_EQ(Describe({kWaits, std::nullopt, std::nullopt}),
            "step 12, dense gradients: worker 1 (rank 2 on hostA), worker 2 (rank 4 on hostB) did "
            "not come within 30000 ms");
}

TEST(RollCall, AWorkerInAnotherPhaseIsNamedWithIt) {
  EXPECT_EQ(Describe({kWaits, RollCallAnswer{.phase = "step 11, losses"}, std::nullopt}),
            "step 12, dense gradients: worker 2 (rank 4 on hostB) did not come within 30000 ms; "
            "worker 1 (rank 2 on hostA) is in \"step 11, losses\"");
}

TEST(RollCall, AWorkerThatCameTooLateIsNamed) {
  EXPECT_EQ(Describe({kWaits, kWaits, RollCallAnswer{.phase = kPhase, .came_late = true}}),
            "step 12, dense gradients: worker 2 (rank 4 on hostB) came too late, after 30000 ms; "
            "the others wait in the same phase");
}

TEST(RollCall, TheLateWorkerSaysSoItself) {
  EXPECT_EQ(
      Describe({RollCallAnswer{.phase = kPhase, .came_late = true}, kWaits, kWaits}),
      "step 12, dense gradients: this worker, 0 (rank 1 on hostA), came when others had given "
      "up waiting after 30000 ms");
}

TEST(RollCall, WhenAllAreThereTheNetworkIsSuspected) {
  EXPECT_EQ(Describe({kWaits, kWaits, kWaits}),
            "step 12, dense gradients: all workers came, but the exchange did not end within 30000 "
            "ms: look at the network between them");
}

}  // namespace
}  // namespace rowhouse
