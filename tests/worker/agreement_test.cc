#include "worker/mpi/agreement.h"

#include <atomic>
#include <chrono>
#include <stop_token>
#include <thread>
#include <vector>

#include "tests/testing/testing.h"
#include "tests/testing/thread_communicator.h"

namespace rowhouse {
namespace {

struct Heard {
  Status status;
  bool is_agreed = false;
};

// What every rank hears of `mine`, one a rank; an absent rank (null) does not come.
std::vector<Heard> TellAll(const std::vector<const Status*>& mine, int64_t deadline_ms = 30000) {
  auto ranks = MakeThreadCommunicators(static_cast<uint32_t>(mine.size()), deadline_ms);
  std::vector<Heard> heard(mine.size());
  std::vector<std::thread> threads;
  for (size_t r = 0; r < mine.size(); ++r) {
    if (mine[r] == nullptr) continue;
    threads.emplace_back([&, r] {
      heard[r].status = AgreeOnOne(*ranks[r], *mine[r], "telling", &heard[r].is_agreed);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return heard;
}

TEST(Agreement, OneMessageIsEverybodysTheOperatorsMistakesFirst) {
  const Status ok;
  const Status broken(StatusCode::kInternal, "broken");
  const Status wrong(StatusCode::kUsage, "wrong"), wrong_too(StatusCode::kUsage, "wrong too");
  const auto expect = [](const std::vector<Heard>& heard, const Status& told) {
    for (const Heard& one : heard) {
      EXPECT_EQ(one.status.code(), told.code());
      EXPECT_EQ(one.status.message(), told.message());
      EXPECT_EQ(one.is_agreed, !told.ok());
    }
  };
  expect(TellAll({&ok, &ok}), ok);
  expect(TellAll({&ok, &broken, &ok}), broken);
  expect(TellAll({&broken, &wrong, &wrong_too}), wrong);
  expect(TellAll({&wrong_too, &broken, &wrong}), wrong_too);
}

TEST(Agreement, WithoutAllRanksAFailureStaysWhereItIs) {
  const Status ok, wrong(StatusCode::kUsage, "wrong");
  const std::vector<Heard> heard = TellAll({&wrong, &ok, nullptr}, /*deadline_ms=*/50);
  EXPECT_EQ(heard[0].status.message(), "wrong");
  EXPECT_FALSE(heard[0].is_agreed);
  EXPECT_EQ(heard[1].status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_FALSE(heard[1].is_agreed);
}

TEST(Agreement, ALostPeerIsNotMet) {
  auto ranks = MakeThreadCommunicators(2, /*deadline_ms=*/1);
  const Status lost(StatusCode::kUnavailable, "lost");
  bool is_agreed = false;
  EXPECT_EQ(AgreeIfPossible(*ranks[0], lost, "telling", &is_agreed).message(), "lost");
  EXPECT_FALSE(is_agreed);
  EXPECT_FALSE(CanBeAgreedOn(lost));
  EXPECT_TRUE(CanBeAgreedOn(OkStatus()));
}

// Longer than the deadline of a meeting, which a wait of it would pass.
TEST(Agreement, WhatTheFirstDoesMayTakeLongerThanAMeeting) {
  auto ranks = MakeThreadCommunicators(2, /*deadline_ms=*/1500);
  const std::atomic<bool> stop = false;
  const auto wrong = [](const std::stop_token&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1900));
    return Status(StatusCode::kUsage, "wrong");
  };
  Status heard;
  std::thread other([&] { heard = DoOnFirst(*ranks[1], nullptr, stop, "moving"); });
  const Status mine = DoOnFirst(*ranks[0], wrong, stop, "moving");
  other.join();
  for (const Status& status : {mine, heard}) {
    EXPECT_EQ(status.code(), StatusCode::kUsage);
    EXPECT_EQ(status.message(), "wrong");
  }
}

TEST(Agreement, WhatTheFirstDoesIsStopped) {
  const auto until_stopped = [](const std::stop_token& token) {
    while (!token.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return Status(StatusCode::kUnavailable, "stopped");
  };
  const std::atomic<bool> stop = true, go_on = false;
  auto alone = MakeThreadCommunicators(1, /*deadline_ms=*/1500);
  EXPECT_EQ(DoOnFirst(*alone[0], until_stopped, stop, "moving").message(), "stopped");
  auto ranks = MakeThreadCommunicators(2, /*deadline_ms=*/50);  // The other does not come.
  EXPECT_EQ(DoOnFirst(*ranks[0], until_stopped, go_on, "moving").code(),
            StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace rowhouse
