// The MPI communicator on real ranks: the contract, and what the ranks that came say of one that
// did not. Every rank runs every test; ctest starts it with 1, 2 and 3 ranks.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <chrono>
#include <thread>

#include "tests/testing/communicator_contract.h"
#include "worker/mpi/mpi_communicator.h"

namespace rowhouse {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::HasSubstr;

// A busy machine may hold up a rank for a second: times that are told apart lie further apart.
constexpr int64_t kDeadlineMs = 5000;
constexpr int64_t kRollCallMs = 2000;

int Ranks() {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return ranks;
}

std::unique_ptr<Communicator> Make(int64_t deadline_ms, int64_t roll_call_ms) {
  MpiCommunicatorOptions options = {
      .deadline_ms = deadline_ms, .roll_call_ms = roll_call_ms, .workers = {}};
  for (int rank = 0; rank < Ranks(); ++rank) {
    options.workers.push_back({.mpi_rank = rank + 10, .host = "host" + std::to_string(rank)});
  }
  return MakeMpiCommunicator(MPI_COMM_WORLD, options).value();
}

std::string NameOf(uint32_t worker) {
  return "worker " + std::to_string(worker) + " (rank " + std::to_string(worker + 10) + " on host" +
         std::to_string(worker) + ")";
}

TEST(MpiCommunicator, KeepsTheContract) {
  const auto communicator = Make(30000, 1000);
  EXPECT_EQ(communicator->size(), static_cast<uint32_t>(Ranks()));
  ExpectCommunicatorContract(communicator.get());
}

TEST(MpiCommunicator, WaitsForOneThatIsSlowWithinTheDeadline) {
  const auto communicator = Make(30000, 1000);
  if (Raw(communicator->rank()) == 0) std::this_thread::sleep_for(milliseconds(150));
  ExpectSumsInRankOrder(communicator.get(), 1000);
}

// Leaves every rank, late or not, at the same point: the communicator of the next test is made by
// all together.
TEST(MpiCommunicator, NamesTheRankThatDoesNotComeInTime) {
  if (Ranks() < 2) GTEST_SKIP() << "nobody to wait for";
  const auto communicator = Make(kDeadlineMs, kRollCallMs);
  const uint32_t rank = Raw(communicator->rank()), absent = communicator->size() - 1;
  std::vector<float> values(1000, 1.0f);
  ASSERT_OK(communicator->SumInRankOrder(values, "step 11, dense gradients"));
  if (rank == absent) {
    std::this_thread::sleep_for(milliseconds(kDeadlineMs + kRollCallMs + 2500));
  }
  // Deadlines lie apart; the first to give up takes the others with it.
  constexpr int64_t kLaterMs = 1700;  // waits for longer than a third of its deadline
  if (rank == 1 && rank != absent) std::this_thread::sleep_for(milliseconds(kLaterMs));

  const auto start = steady_clock::now();
  const Status status = communicator->SumInRankOrder(values, "step 12, dense gradients");
  const auto waited = steady_clock::now() - start;
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status.ToString();
  if (rank == absent) {
    EXPECT_THAT(status.message(), HasSubstr("this worker, " + std::to_string(absent)));
    EXPECT_LT(waited, milliseconds(kDeadlineMs));
  } else {
    EXPECT_THAT(status.message(),
                HasSubstr("step 12, dense gradients: " + NameOf(absent) +
                          fmt::format(" did not come within {} ms", kDeadlineMs)));
    for (uint32_t came = 0; came < absent; ++came) {
      EXPECT_THAT(status.message(), testing::Not(HasSubstr(NameOf(came))));
    }
    // Deadline and roll call, well before the absent one comes. Had rank 1 waited for its own
    // deadline, that would be the sum of both.
    EXPECT_LT(waited, milliseconds(kDeadlineMs + kRollCallMs + (rank == 1 ? -300 : 2000)));
  }
  // Broken from now on, without waiting.
  const auto again = steady_clock::now();
  EXPECT_EQ(communicator->AllGather({}, "step 13").status().message(), status.message());
  EXPECT_LT(steady_clock::now() - again, milliseconds(kDeadlineMs));
}

TEST(MpiCommunicator, NamesTheRankThatComesDuringTheRollCall) {
  if (Ranks() < 2) GTEST_SKIP() << "nobody to wait for";
  const auto communicator = Make(kDeadlineMs, 9000);
  const uint32_t rank = Raw(communicator->rank()), late = 0;
  if (rank == late) std::this_thread::sleep_for(milliseconds(kDeadlineMs + 1500));
  const auto start = steady_clock::now();
  const Status status = communicator->AllGather({}, "step 3, sample counts").status();
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr(rank == late ? std::string("this worker, 0 (rank 10")
                                                       : NameOf(late) + " came too late"));
  // The roll call ends with the last answer.
  EXPECT_LT(steady_clock::now() - start, milliseconds(kDeadlineMs + 5000));
}

// The late rank comes after several deadlines of the others, which lie apart.
TEST(MpiCommunicator, WaitsOnAsLongAsItsPatienceSays) {
  const auto communicator = Make(200, 1000);
  const uint32_t rank = Raw(communicator->rank());
  int asked = 0;
  communicator->set_patience([&](uint32_t waited_ms, const std::string&) {
    EXPECT_EQ(waited_ms, 200u);
    ++asked;
    std::this_thread::sleep_for(milliseconds(30));
    return true;
  });
  if (rank == 0) std::this_thread::sleep_for(milliseconds(2500));
  if (rank == 1) std::this_thread::sleep_for(milliseconds(70));
  ExpectSumsInRankOrder(communicator.get(), 1000);
  if (rank != 0) {
    EXPECT_GE(asked, 2);
  }
  ExpectSumsInRankOrder(communicator.get(), 1000);
}

// What came while patience was asked for is taken, whatever it says.
TEST(MpiCommunicator, TakesWhatCameWhilePatienceWasAskedFor) {
  if (Ranks() != 2) GTEST_SKIP() << "of two ranks";
  const auto communicator = Make(300, 1000);
  const bool is_late = Raw(communicator->rank()) == 1;
  communicator->set_patience([&](uint32_t, const std::string&) {
    std::this_thread::sleep_for(milliseconds(3000));
    return is_late;
  });
  if (is_late) std::this_thread::sleep_for(milliseconds(1000));
  ASSERT_OK(communicator->AllGather({}, "gather"));
}

}  // namespace
}  // namespace rowhouse

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  google::InitGoogleLogging(argv[0]);
  testing::InitGoogleTest(&argc, argv);
  const int result = RUN_ALL_TESTS();
  MPI_Finalize();
  return result;
}
