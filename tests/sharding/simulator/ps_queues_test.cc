#include "sharding/lab/simulator/ps_queues.h"

#include <gtest/gtest.h>

#include <cmath>

#include "common/random.h"
#include "tests/sharding/simulator/step_work_by_hand.h"

namespace rowhouse {
namespace {

// Queues with what they refer to.
class Queues {
 public:
  explicit Queues(const StepWork& work)
      : work_(work),
        speed_(/*seed=*/1, /*jitter=*/0),
        links_(work.hosts, work.network_gbits, work.round_trip_us),
        cores_(work.cores, std::vector<uint32_t>(work.hosts)),
        queues_(work_, speed_, links_, cores_) {}
  PsQueues* operator->() { return &queues_; }

 private:
  const StepWork work_;
  RankSpeed speed_;
  HostLinks links_;
  HostCores cores_;
  PsQueues queues_;
};

TEST(PsQueues, PullsThatComeTogetherAreServedOneAfterTheOther) {
  const StepWork work = WorkByHand(/*workers=*/4, /*ps=*/2);
  Queues queues(work);
  for (uint32_t w = 0; w < 4; ++w) {
    EXPECT_DOUBLE_EQ(queues->Pull(work.host_of_worker[w], 10, 0), 10 + 2 * (w + 1));
  }
  for (const PsTotals& node : queues->totals()) {
    EXPECT_DOUBLE_EQ(node.wait_ms, 0 + 2 + 4 + 6);
    EXPECT_DOUBLE_EQ(node.busy_ms, 8);
    EXPECT_DOUBLE_EQ(node.longest_queue, 4);
  }
}

TEST(PsQueues, AQueueIsARequestOrMoreHoweverLongTheyTake) {
  StepWork work = WorkByHand(/*workers=*/2, /*ps=*/1);
  work.ps[0].pull_ms = 100;
  work.ps[0].push_ms = 0.1;
  work.ps[0].apply_ms = 500;
  Queues queues(work);
  queues->Pull(work.host_of_worker[0], 0, 0);
  queues->Push(work.host_of_worker[1], 1, 0);  // waits for a pull, not for a thousand pushes
  EXPECT_EQ(queues->totals()[0].longest_queue, 2);
  queues->Push(work.host_of_worker[0], 200, 0);
  queues->Pull(work.host_of_worker[0], 201, 1);  // waits for the update, which is no request
  EXPECT_EQ(queues->totals()[0].longest_queue, 2);
}

TEST(PsQueues, WaitAsLongAsPollaczekAndKhinchineSay) {
  // M/D/1: requests come at random, and each takes equally long.
  StepWork work = WorkByHand(1, 1);
  work.ps[0].pull_ms = 1;
  constexpr double kLoad = 0.7;
  constexpr int kRequests = 200'000;
  Queues queues(work);
  double now_ms = 0;
  for (int i = 0; i < kRequests; ++i) {
    now_ms -= std::log(1 - ToUnitDouble(MixBits(MixKey(7, 1), i))) / kLoad;
    queues->Pull(work.host_of_worker[0], now_ms, 0);
  }
  const double mean_ms = queues->totals()[0].wait_ms / kRequests;
  EXPECT_NEAR(mean_ms, kLoad / (2 * (1 - kLoad)), 0.04);
  EXPECT_NEAR(queues->totals()[0].busy_ms / now_ms, kLoad, 0.01);
}

TEST(PsQueues, TheLinkOfAPsNodeIsTheLimitOfManyWorkers) {
  StepWork work = WorkByHand(8, 1);
  work.network_gbits = 8;  // 1e6 bytes a ms
  work.round_trip_us = 100;
  work.ps[0] = {.pull_reply_bytes = 3e6};
  Queues queues(work);
  double last_ms = 0;
  for (uint32_t w = 0; w < 8; ++w) {
    last_ms = queues->Pull(work.host_of_worker[w], 0, 0);
  }
  EXPECT_NEAR(last_ms, 8 * 3 + 0.1, 1e-9);
}

TEST(PsQueues, TheLinkOfAWorkerIsTheLimitOfManyPsNodes) {
  StepWork work = WorkByHand(1, 8);
  work.network_gbits = 8;
  work.round_trip_us = 100;
  for (PsWork& node : work.ps) node = {.pull_reply_bytes = 3e6, .push_bytes = 2e6};
  Queues queues(work);
  EXPECT_NEAR(queues->Pull(work.host_of_worker[0], 0, 0), 8 * 3 + 0.1, 1e-9);
  EXPECT_NEAR(queues->Push(work.host_of_worker[0], 100, 0), 100 + 8 * 2 + 0.1, 1e-9);
}

TEST(PsQueues, PartsAreServedWhileOthersAreOnTheirWay) {
  StepWork work = WorkByHand(1, 1);
  work.network_gbits = 8;
  work.round_trip_us = 100;
  for (const double served_ms : {1.0, 7.0}) {
    work.ps[0] = {
        .pull_ms = served_ms, .push_ms = served_ms, .pull_reply_bytes = 3e6, .push_bytes = 3e6};
    Queues queues(work);
    const double ms = std::max(served_ms, 3.0) + 0.1;
    EXPECT_NEAR(queues->Pull(work.host_of_worker[0], 0, 0), ms, 1e-9);
    EXPECT_NEAR(queues->Push(work.host_of_worker[0], 100, 0), 100 + ms, 1e-9);
  }
}

TEST(PsQueues, AHostSendsItselfNothing) {
  StepWork work = WorkByHand(1, 2);
  work.network_gbits = 8;
  work.round_trip_us = 100;
  for (PsWork& node : work.ps) node = {.pull_reply_bytes = 3e6};
  DealRanks(2, &work);  // the worker is beside PS node 0
  Queues queues(work);
  EXPECT_NEAR(queues->Pull(work.host_of_worker[0], 0, 0), 3 + 0.1, 1e-9);
}

TEST(PsQueues, APullWaitsUntilTheStepBeforeIsApplied) {
  const StepWork work = WorkByHand(2, 1);
  Queues queues(work);
  EXPECT_DOUBLE_EQ(queues->Push(work.host_of_worker[0], 10, 0), 11);
  EXPECT_DOUBLE_EQ(queues->Push(work.host_of_worker[1], 20, 0), 21);
  // Applied at 21.5, then 2 ms.
  EXPECT_DOUBLE_EQ(queues->Pull(work.host_of_worker[0], 15, 1), 23.5);
}

TEST(PsQueues, TheStoreHasAWholeStepForWhatAPullNeeds) {
  StepWork work = WorkByHand(1, 1);
  work.ps[0].store_ms = 30;
  Queues queues(work);
  const uint32_t host = work.host_of_worker[0];
  queues->Push(host, 10, 0);  // applied at 11.5, stored at 41.5
  EXPECT_DOUBLE_EQ(queues->Pull(host, 12, 1), 14) << "what it needs was asked a step ago";
  queues->Push(host, 20, 1);
  EXPECT_DOUBLE_EQ(queues->Pull(host, 22, 2), 43.5);
  EXPECT_DOUBLE_EQ(queues->totals()[0].busy_ms, 2 * (2 + 1 + 0.5)) << "the shard's own thread";
}

TEST(PsQueues, NobodyWaitsForMergesButForTheirCores) {
  StepWork work = WorkByHand(1, 1);
  DealRanks(1, &work);
  work.cores = 1;
  work.ps[0].merge_ms = 1000;
  const RankSpeed speed(/*seed=*/1, /*jitter=*/0);
  HostLinks links(1, 0, 0);
  for (const bool is_crowded : {false, true}) {
    HostCores cores(1, std::vector<uint32_t>{is_crowded ? 2u : 1u});
    PsQueues queues(work, speed, links, cores);
    for (uint64_t step = 0; step < 5; ++step) {
      const double now_ms = 10.0 * static_cast<double>(step);
      EXPECT_DOUBLE_EQ(queues.Pull(0, now_ms, step), now_ms + 2);
      EXPECT_DOUBLE_EQ(queues.Push(0, now_ms + 5, step), now_ms + 6);
    }
    EXPECT_DOUBLE_EQ(queues.totals()[0].busy_ms, 5 * (2 + 1 + 0.5));
    const double worker_ms = cores.RunWorker(0, 50, 1, 1);
    if (is_crowded) {
      EXPECT_GT(worker_ms, 5 * 1000);
    } else {
      EXPECT_DOUBLE_EQ(worker_ms, 51);
    }
  }
}

TEST(PsQueues, PoolingTakesFewerCoresThanMovingRows) {
  StepWork work = WorkByHand(2, 2);
  DealRanks(1, &work);
  work.cores = 2;
  work.exchange_load = 2;
  const auto pulled_ms = [&](double answer_load) {
    work.answer_load = answer_load;
    const RankSpeed speed(/*seed=*/1, /*jitter=*/0);
    HostLinks links(1, 0, 0);
    HostCores cores(2, std::vector<uint32_t>{4});
    PsQueues queues(work, speed, links, cores);
    queues.Pull(0, 0, 0);
    return queues.Pull(0, 0, 0);
  };
  EXPECT_DOUBLE_EQ(pulled_ms(1), 4) << "two nodes, on a core each, answer two pulls of 2 ms";
  EXPECT_DOUBLE_EQ(pulled_ms(2), 8);
}

TEST(HostCores, FourThreadsOnTwoCoresTakeTwiceAsLong) {
  const std::vector<uint32_t> threads = {4};
  HostCores cores(2, threads);
  double last_ms = 0;
  for (int i = 0; i < 4; ++i) last_ms = cores.RunWorker(0, 0, 10, 1);
  EXPECT_DOUBLE_EQ(last_ms, 20);
}

TEST(HostCores, AHostWithACoreForEachThreadDelaysNothing) {
  const std::vector<uint32_t> threads = {2, 3};
  HostCores cores(2, threads);
  double of_crowded_ms = 0;
  for (int i = 0; i < 4; ++i) {
    EXPECT_DOUBLE_EQ(cores.RunWorker(0, 0, 10, 1), 10);
    of_crowded_ms = cores.RunWorker(1, 0, 10, 1);
  }
  EXPECT_DOUBLE_EQ(of_crowded_ms, 20);
}

TEST(HostCores, ShardsAreNotDelayedByWorkersButDelayThem) {
  const std::vector<uint32_t> threads = {3};
  HostCores cores(1, threads);
  EXPECT_DOUBLE_EQ(cores.RunWorker(0, 0, 10, 1), 10);
  EXPECT_DOUBLE_EQ(cores.RunShard(0, 1, 2, 1), 3);
  EXPECT_DOUBLE_EQ(cores.RunWorker(0, 2, 5, 1), 17);
}

}  // namespace
}  // namespace rowhouse
