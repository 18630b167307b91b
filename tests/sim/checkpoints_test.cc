// Saves in mid-run change no bit of the model, and each has the rows after exactly its steps,
// whatever else the shards have to do, and wherever a disk is full.
#include <algorithm>

#include "tests/sim/small_run.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TEST(SimCheckpoints, ChangeNoBitAndHaveTheRowsOfTheirStep) {
  std::map<uint64_t, std::string> digests;  // of a run of so many steps
  for (uint64_t steps = 1; steps <= kSmallRunSteps; ++steps) {
    digests[steps] = TrainOnSim({.workers = 2}, SmallTask(), steps).digest;
  }
  const SimOutcome expected = TrainOnSim({.workers = 2}, SmallTask());
  size_t made = 0, given_up = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const SimTask task = SmallTask();
    SimOptions options = SmallRunOptions(seed, /*workers=*/2);
    options.mini_batch_size = task.data.mini_batch_size;
    options.model_seed = static_cast<uint32_t>(task.data.seed);
    options.save_every = 1 + seed % 2;
    options.faults = {.late = 0.1,
                      .doubled = 0.1,
                      .slow_store = 0.2,
                      .no_room = seed % 3 == 0 ? 0.2 : 0.0,
                      .max_delay_ms = 20,
                      .max_full_ms = seed % 5 == 0 ? 3000 : 0};
    const std::unique_ptr<Dataset> data = Datasets().Make(task.source, task.data).value();
    SimCluster cluster(options, ModelOf(task), task.tables);
    EXPECT_EQ(cluster.Train(*data, kSmallRunSteps), expected.losses);
    EXPECT_EQ(cluster.AllRows().digest, expected.digest);
    EXPECT_EQ(cluster.DenseParameters(0), expected.dense);
    const std::map<uint64_t, std::string> checkpoints = cluster.Checkpoints();
    const size_t due = (kSmallRunSteps - 1) / options.save_every;  // None after the last step.
    if (options.faults.no_room == 0.0) {
      EXPECT_EQ(checkpoints.size(), due);
    }
    for (const auto& [steps, digest] : checkpoints) EXPECT_EQ(digest, digests[steps]);
    made += checkpoints.size();
    given_up += due - checkpoints.size();
  }
  EXPECT_GT(made, 60u);
  EXPECT_GT(given_up, 5u);
}

}  // namespace
}  // namespace rowhouse
