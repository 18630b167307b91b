// Saves in mid-run change no bit of the model, and each has the rows after exactly its steps,
// whatever else the shards have to do while it is made, and wherever a disk is full.
#include <algorithm>

#include "tests/sim/small_run.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

// Steps enough for several saves, of which each leans on those before it.
constexpr uint64_t kManySteps = 24;

SimTask LongTask() {
  SimTask task = SmallTask();
  task.data.num_batches = kManySteps;
  return task;
}

TEST(SimCheckpoints, ChangeNoBitAndHaveTheRowsOfTheirStep) {
  const SimTask task = LongTask();
  std::map<uint64_t, std::string> digests;  // of a run of so many steps
  for (uint64_t steps = 1; steps <= kManySteps; ++steps) {
    digests[steps] = TrainOnSim({.workers = 2}, task, steps).digest;
  }
  const SimOutcome expected = TrainOnSim({.workers = 2}, task);
  size_t made = 0, given_up = 0;
  ShardCounters all;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    SimOptions options = SmallRunOptions(seed, /*workers=*/2);
    options.mini_batch_size = task.data.mini_batch_size;
    options.model_seed = static_cast<uint32_t>(task.data.seed);
    options.save_every = 1 + seed % 3;
    options.faults = {.late = 0.1,
                      .doubled = 0.1,
                      .slow_store = seed % 2 == 0 ? 0.2 : 0.0,
                      .no_room = seed % 3 == 0 ? 0.05 : 0.0,
                      .max_delay_ms = 20,
                      .max_full_ms = seed % 5 == 0 ? 3000 : 0};
    const std::unique_ptr<Dataset> data = Datasets().Make(task.source, task.data).value();
    SimCluster cluster(options, ModelOf(task), task.tables);
    EXPECT_EQ(cluster.Train(*data, kManySteps), expected.losses);
    EXPECT_EQ(cluster.AllRows().digest, expected.digest);
    EXPECT_EQ(cluster.DenseParameters(0), expected.dense);
    const std::map<uint64_t, std::string> checkpoints = cluster.Checkpoints();
    if (options.faults.no_room == 0.0) {
      EXPECT_EQ(checkpoints.size(), cluster.checkpoints_begun());
    }
    for (const auto& [steps, digest] : checkpoints) EXPECT_EQ(digest, digests[steps]) << steps;
    made += checkpoints.size();
    given_up += cluster.checkpoints_begun() - checkpoints.size();
    all.Add(cluster.TotalStats());
  }
  EXPECT_GT(made, 200u);
  EXPECT_GT(given_up, 20u);
  EXPECT_GT(all.rows_saved, 10000u);
  EXPECT_GT(all.rows_evicted, 10000u);
  EXPECT_GT(all.save_wait_ms, 0u) << "no step had to wait for copies to be written";
}

}  // namespace
}  // namespace rowhouse
