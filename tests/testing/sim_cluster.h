// SimCluster: a whole run - shards, stores, workers - in one process, from a seed. The workers run
// the Trainer that ships, over a simulated network and a clock that moves (sim_scheduler.h), so
// that any interleaving, and any fault, can be had again.
//
// A test says what to train and calls TrainOnSim (sim_training.h), or makes a SimCluster and calls
// Train or TryTrain. The scheduler then runs the workers as its tasks, and messages
// (sim_network.h), actions of shards (sim_shard.h) and time-outs as its events, until all workers
// have returned. The same seed in SimOptions::seed repeats a run; has_trace notes every event.
// `./launch/test.sh -R sim/` runs the tests of tests/sim.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ps/shard/shard.h"
#include "sharding/plans/plan_maker.h"
#include "sharding/rows/rows_digest.h"
#include "tests/testing/sim_communicator.h"
#include "tests/testing/sim_network.h"
#include "tests/testing/sim_scheduler.h"
#include "tests/testing/sim_shard.h"
#include "worker/client/ps_client.h"
#include "worker/data/dataset.h"
#include "worker/train/trainer.h"
#include "worker/train/training_step.h"

namespace rowhouse {

struct SimOptions {
  uint64_t seed = 1;
  uint32_t shards = 1;
  uint32_t workers = 1;
  uint64_t cache_bytes = 1 << 30;  // over all shards, which are one node
  uint64_t cache_move_steps = 0;   // see ShardOptions
  double cache_ratio = 1.0;
  uint32_t cache_ways = 16;
  std::string cache_policy = kDefaultCachePolicy;
  std::shared_ptr<const AccessCounts> cache_access_counts;  // of physical tables; null: not known
  size_t max_part_rows = 20000;
  uint64_t max_unwritten_bytes = 256 << 20;
  uint64_t max_dirty_steps = 0;
  uint64_t save_every = 0;   // steps between checkpoints; 0: none
  bool logs_pushes = false;  // to a log that forgets
  SimFaults faults = {};
  uint32_t prefetch_steps = 0;    // most steps that workers look ahead
  uint64_t mini_batch_size = 32;  // samples of a step, over all workers
  float learning_rate = 0.1f;
  std::string dense_optimizer = "sgd";
  DenseOptimizerOptions dense_optimizer_options;
  uint32_t model_seed = 123;  // of the initial values of dense parameters, as numpy_rand_seed
  uint32_t accumulation = 1;
  double lookup_l2 = 0.0;  // see TrainingStepOptions
  // Which shards own which rows; its number of shards is that above.
  PlanOptions plan;
  std::vector<std::optional<double>> cache_shares = {};  // of that plan; empty: it says none
  bool has_trace = false;
};

class SimCluster {
 public:
  // Dense parameters begin as in a run of the program (worker/dense/dense_initialiser.h).
  SimCluster(const SimOptions& options, const ModelSpec& model, const EmbeddingTables& tables);
  ~SimCluster();

  // What one worker's Trainer returned.
  struct WorkerOutcome {
    Status status;
    bool is_agreed = false;  // Trainer::is_failure_agreed()
    TrainingSummary summary;
    Evaluation evaluation;
  };
  struct Outcome {
    std::vector<double> losses;          // of each step done: the mean over all samples
    std::vector<WorkerOutcome> workers;  // by rank
  };
  // The next `steps` steps of epoch 0; step s has samples [s * B, (s + 1) * B). Then an evaluation,
  // if `evaluates`. Once it has failed nothing else may be called but the accessors.
  Outcome TryTrain(Dataset& data, uint64_t steps, bool evaluates = false);

  // The same; fails the test (CHECK) on any error. Returns the losses.
  std::vector<double> Train(Dataset& data, uint64_t steps);

  // Of all rows, after the steps so far; and how many exist.
  struct Rows {
    std::string digest;
    uint64_t count = 0;
  };
  Rows AllRows();

  // The digests of checkpoints that all shards have made, by steps.
  std::map<uint64_t, std::string> Checkpoints() const;
  uint64_t checkpoints_begun() const { return checkpoints_begun_; }

  uint64_t steps() const { return step_; }
  ShardCounters TotalStats() const;
  std::vector<float> DenseParameters(size_t worker);
  Shard& shard(size_t index);
  const SimScheduler& scheduler() const { return scheduler_; }
  uint64_t messages() const { return network_->messages(); }

 private:
  struct Worker;
  class Losses;

  void MakeShards(const EmbeddingTables& embedding, const RowPrecision& precision);
  void MakeWorkers(const ModelSpec& model, const EmbeddingTables& embedding);
  // Runs `work` for all workers, each as a task of the scheduler.
  void RunWorkers(const std::function<void(uint32_t worker)>& work);
  // By worker 0, as `rowhouse train` makes checkpoints (launch/run/checkpoints.h), without the
  // model's files.
  Status GoOnWithCheckpoint(uint64_t steps);
  Status AskForCheckpoint(uint64_t steps);
  WorkerOutcome TrainWorker(uint32_t worker, Dataset& data, uint64_t steps, bool evaluates,
                            Losses* losses);

  const SimOptions options_;
  const Plan plan_;
  SimScheduler scheduler_;
  std::unique_ptr<SimNetwork> network_;
  std::unique_ptr<CacheLedger> ledger_;
  std::vector<std::unique_ptr<SimShard>> shards_;
  std::vector<std::unique_ptr<Communicator>> communicators_;
  std::vector<std::unique_ptr<Worker>> workers_;
  uint64_t step_ = 0;
  bool has_checkpoint_ = false;  // under way
  uint64_t checkpoints_begun_ = 0;
};

}  // namespace rowhouse
