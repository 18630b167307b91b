// Shards to be measured, in this process: alone on the caller's thread, or behind loopback TCP as a
// PS node has them; and tables and ids of a model that has nothing but what is measured.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "common/transport/security.h"
#include "common/transport/transport.h"
#include "ps/shard/shard.h"
#include "ps/shard/shard_runner.h"
#include "ps/shard/shard_store.h"
#include "ps/store/row_store.h"
#include "sharding/plans/plan.h"
#include "sharding/tables/embedding_tables.h"
#include "worker/client/ps_client.h"
#include "worker/client/shard_address.h"
#include "worker/data/batch.h"

namespace rowhouse {

// `count` equal plain tables with pooling sum.
EmbeddingTables MeasuredTables(size_t count, uint64_t rows, uint32_t dim,
                               const std::string& optimizer = "sgd",
                               const std::string& pooling_sum = "bag_order");

// Evenly spread ids; the same for the same key.
void FillBags(size_t samples, size_t bag_length, uint64_t rows, uint64_t key, Bags* bags);

// Threads: one.
struct MeasuredShard {
  static constexpr uint64_t kJobId = 1;
  static constexpr uint64_t kIncarnation = 1;

  std::string name;
  std::unique_ptr<Shard> shard;
  std::unique_ptr<ShardStore> store;

  // A shard of the plan, with the job and the incarnation above. `rows`: its store, which may have
  // rows; null: an empty one in memory.
  static Result<MeasuredShard> Make(ShardOptions options, const std::vector<TableSpec>& tables,
                                    const Plan& plan, std::unique_ptr<RowStore> rows = nullptr);
  // As its client sees it.
  ShardAddress Address(const std::string& endpoint) const;
};

// Options of shard `id` such that rows that are used fit its memory. `cache_ratio`: of all rows;
// below 1 rows have no places of their own.
ShardOptions RoomyShard(const std::vector<TableSpec>& tables, uint32_t id, uint32_t workers,
                        double cache_ratio = 1);

// Rows of all tables spread over the shards by row_wise. `pools`: shards pool all bags.
Result<Plan> MeasuredPlan(const EmbeddingTables& tables, uint32_t shards, bool pools);

// A shard that listens on `listen`, with a thread and a transport of its own, until destruction.
// Threads: made and destroyed by one; the shard's is inside.
class ServedShard {
 public:
  static Result<std::unique_ptr<ServedShard>> Start(
      MeasuredShard shard, const Security& security,
      const std::string& listen = "tcp://127.0.0.1:0");

  const ShardAddress& address() const { return address_; }

 private:
  ServedShard() = default;

  const SystemClock clock_;
  ShardAddress address_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<ShardRunner> runner_;  // goes first
};

// Nanoseconds of what a shard does in a step of one worker.
struct ShardStepNs {
  double pull = 0;    // answering the pull
  double push = 0;    // taking the push
  double update = 0;  // applying the step
};

// A shard on the caller's thread, without sockets: what it computes, and nothing else. Messages are
// those of a PsClient.
class ShardAlone {
 public:
  // `pools`: it pools all bags. `cache_ratio`: as above.
  static Result<std::unique_ptr<ShardAlone>> Make(const EmbeddingTables& tables, bool pools = false,
                                                  double cache_ratio = 1);
  static Result<std::unique_ptr<ShardAlone>> Make(const EmbeddingTables& tables, bool pools,
                                                  ShardOptions options);

  // A step: pulls rows and bags, pushes their gradients, and has them applied. `bags` may be null.
  Result<ShardStepNs> Step(std::vector<RowBatch>* rows, std::vector<BagBatch>* bags = nullptr);
  // Its pull alone; nanoseconds of answering it.
  Result<double> Pull(std::vector<RowBatch>* rows, std::vector<BagBatch>* bags = nullptr);

  const Shard& shard() const { return *shard_.shard; }

 private:
  ShardAlone() = default;
  // Carries messages to and fro until no operation is under way. Adds the time of handling them to
  // *ns, and that of applying a step to *update_ns.
  Status Run(double* ns, double* update_ns);
  Status Give(ShardEvent event, double* ns, double* update_ns);

  MeasuredShard shard_;
  std::unique_ptr<PsClient> client_;
  uint64_t step_ = 0;
};

}  // namespace rowhouse
