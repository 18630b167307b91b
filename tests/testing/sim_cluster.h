// SimCluster: a whole run - shards, stores, workers - on one thread, from a seed. Messages and
// store actions complete in a seeded random order (per connection and per shard in the order they
// were made, as sockets and I/O threads keep it), so that any interleaving can be had again.
#pragma once

#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "ps/shard/shard.h"
#include "ps/shard/shard_store.h"
#include "sharding/plans/plan_maker.h"
#include "sharding/rows/rows_digest.h"
#include "worker/client/ps_client.h"
#include "worker/data/dataset.h"
#include "worker/train/lookahead.h"
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
  bool logs_pushes = false;       // to a log that forgets, and answers when chosen
  bool stores_run_full = false;   // now and then a store finds no room for a while
  uint32_t prefetch_steps = 0;    // that workers announce, always
  uint64_t mini_batch_size = 32;  // samples of a step, over all workers
  float learning_rate = 0.1f;
  std::string dense_optimizer = "sgd";
  DenseOptimizerOptions dense_optimizer_options;
  uint32_t model_seed = 123;  // of the first values of dense parameters, as numpy_rand_seed
  uint32_t accumulation = 1;
  // Which shards own which rows; its number of shards is that above.
  PlanOptions plan;
};

class SimCluster {
 public:
  // Dense parameters begin as in a run of the program: DLRM's draws for the MLPs, after those of
  // the tables that are drawn in order; a function of seed and name for all others.
  SimCluster(const SimOptions& options, const ModelSpec& model, const EmbeddingTables& tables);
  ~SimCluster();

  // One step on samples [step * B, (step + 1) * B) of epoch 0; the mean loss over all workers.
  // Fails the test (CHECK) on any error or if nothing moves any more.
  double Step(Dataset& data);

  // Of all rows, after the steps so far; and how many exist.
  struct Rows {
    std::string digest;
    uint64_t count = 0;
  };
  Rows AllRows();

  uint64_t steps() const { return step_; }
  ShardCounters TotalStats() const;
  std::vector<float> DenseParameters(size_t worker);
  Shard& shard(size_t index);

 private:
  struct ShardNode;
  struct WorkerNode;

  void Deliver();  // Until every client is idle.
  bool DeliverOne();
  // The next action of a shard's store, unless it finds no room this time.
  void CarryOutOne(size_t shard);
  Lookahead& LookaheadOf(uint32_t worker, Dataset& data);
  void Carry(size_t shard, std::vector<ShardAction> actions);

  const SimOptions options_;
  Plan plan_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<ShardNode>> shards_;
  std::unique_ptr<CacheLedger> ledger_;
  std::vector<std::unique_ptr<WorkerNode>> workers_;
  uint64_t step_ = 0;
};

}  // namespace rowhouse
