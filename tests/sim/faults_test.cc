// The Trainer that ships, on a network and on disks that fail: what is late, doubled or busy
// changes no bit of the model; what is lost ends the run at a deadline, on every worker.
#include <algorithm>

#include "tests/sim/small_run.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

void ExpectTheSameModelInFaults(const SimOutcome& outcome, const SimOutcome& expected) {
  EXPECT_EQ(outcome.losses, expected.losses);
  EXPECT_EQ(outcome.digest, expected.digest);
  EXPECT_EQ(outcome.dense, expected.dense);
  EXPECT_EQ(outcome.stats.rows_updated, expected.stats.rows_updated);
}

// Trains with the faults, over seeds, and expects the model that a run without them trains.
void ExpectNoBitChanged(const SimFaults& faults) {
  for (const uint32_t workers : {1u, 3u}) {
    const SimOutcome expected = TrainOnSim({.workers = workers}, SmallTask());
    for (uint64_t seed = 1; seed <= 30; ++seed) {
      SCOPED_TRACE(fmt::format("workers {} seed {}", workers, seed));
      SimOptions options = SmallRunOptions(seed, workers);
      options.faults = faults;
      ExpectTheSameModelInFaults(TrainOnSim(options, SmallTask()), expected);
    }
  }
}

TEST(SimFaults, LateMessagesAndSlowStoresChangeNoBit) {
  ExpectNoBitChanged({.late = 0.2, .slow_store = 0.2, .max_delay_ms = 50});
}

TEST(SimFaults, DoubledMessagesChangeNoBit) {
  ExpectNoBitChanged({.doubled = 0.3, .max_delay_ms = 2});
  ExpectNoBitChanged({.late = 0.1, .doubled = 0.3, .slow_store = 0.3, .max_delay_ms = 20});
}

TEST(SimFaults, BusyShardsChangeNoBit) {
  ExpectNoBitChanged({.late = 0.1, .doubled = 0.1, .max_full_ms = 3000});
}

// Both deadlines, of an answer and of the allreduce, begin anew while a shard says BUSY.
TEST(SimFaults, AFullDiskIsWaitedForLongerThanAnyDeadline) {
  const SimOutcome expected = TrainOnSim({.workers = 2}, SmallTask());
  SimOptions options = SmallRunOptions(/*seed=*/10, /*workers=*/2);
  options.faults = {.max_full_ms = 200000};
  const SimTask task = SmallTask();
  options.mini_batch_size = task.data.mini_batch_size;
  options.model_seed = static_cast<uint32_t>(task.data.seed);
  const std::unique_ptr<Dataset> data = Datasets().Make(task.source, task.data).value();
  SimCluster cluster(options, ModelOf(task), task.tables);
  EXPECT_EQ(cluster.Train(*data, kSmallRunSteps), expected.losses);
  EXPECT_GT(cluster.scheduler().NowMs(), 200000);
  EXPECT_EQ(cluster.AllRows().digest, expected.digest);
}

// What a run came to whose message `lost` did not arrive.
SimCluster::Outcome TrainWithout(std::optional<uint64_t> lost, uint64_t seed, uint64_t* messages,
                                 TimeMs* ended) {
  const SimTask task = SmallTask();
  SimOptions options = SmallRunOptions(seed, /*workers=*/3);
  options.mini_batch_size = task.data.mini_batch_size;
  options.model_seed = static_cast<uint32_t>(task.data.seed);
  options.faults.lost_message = lost;
  const std::unique_ptr<Dataset> data = Datasets().Make(task.source, task.data).value();
  SimCluster cluster(options, ModelOf(task), task.tables);
  SimCluster::Outcome outcome = cluster.TryTrain(*data, kSmallRunSteps);
  *messages = cluster.messages();
  *ended = cluster.scheduler().NowMs();
  return outcome;
}

// No request is sent again: the connections are TCP, which loses nothing but itself. So a lost
// request or answer must not leave anybody waiting, nor anybody with a model.
TEST(SimFaults, ALostMessageIsADeadlineOnEveryWorker) {
  for (const uint64_t seed : {2u, 3u, 9u}) {
    uint64_t messages = 0;
    TimeMs ended = 0;
    const SimCluster::Outcome whole = TrainWithout(std::nullopt, seed, &messages, &ended);
    const TimeMs no_fault_ms = ended;
    uint64_t failed = 0;
    for (uint64_t lost = 0; lost < messages; lost += 1 + messages / 40) {
      SCOPED_TRACE(fmt::format("seed {}, message {} of {}", seed, lost, messages));
      uint64_t ignored = 0;
      const SimCluster::Outcome outcome = TrainWithout(lost, seed, &ignored, &ended);
      if (outcome.workers[0].status.ok()) {  // Nobody waits for news of rows to prefetch.
        for (const auto& worker : outcome.workers) ASSERT_OK(worker.status);
        EXPECT_EQ(outcome.losses, whole.losses);
        continue;
      }
      ++failed;
      uint64_t without_answer = 0;
      for (const auto& worker : outcome.workers) {
        EXPECT_EQ(worker.status.code(), StatusCode::kDeadlineExceeded);
        const std::string& message = worker.status.message();
        without_answer += message.find("no answer for 62000 ms") != std::string::npos ? 1 : 0;
        EXPECT_THAT(message, AnyOf(HasSubstr("no answer for 62000 ms"),
                                   HasSubstr("did not come within 65000 ms")));
      }
      EXPECT_EQ(without_answer, 1u) << "the worker whose message was lost names the shard";
      EXPECT_LT(ended, no_fault_ms + 65000 + 5000) << "nobody waits for longer";
    }
    EXPECT_GT(failed, 20u);
  }
}

}  // namespace
}  // namespace rowhouse
