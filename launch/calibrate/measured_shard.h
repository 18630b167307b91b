// Shards to be measured: the rows that are used fit their memory, and they have empty stores, in
// memory. Threads: one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "ps/shard/shard.h"
#include "ps/shard/shard_store.h"
#include "sharding/plans/plan.h"
#include "sharding/tables/embedding_tables.h"
#include "worker/client/ps_client.h"
#include "worker/client/shard_address.h"

namespace rowhouse {

struct MeasuredShard {
  static constexpr uint64_t kJobId = 1;
  static constexpr uint64_t kIncarnation = 1;

  std::string name;
  std::unique_ptr<Shard> shard;
  std::unique_ptr<ShardStore> store;

  // Shard `id` of the plan. `cache_ratio`: of all rows; below 1 rows have no places of their own.
  static Result<MeasuredShard> Make(const std::vector<TableSpec>& tables, const Plan& plan,
                                    uint32_t id, uint32_t workers, double cache_ratio = 1);
  // As its client sees it.
  ShardAddress Address(const std::string& endpoint) const;
};

// Rows of all tables spread over the shards by row_wise. `pools`: shards pool all bags.
Result<Plan> MeasuredPlan(const EmbeddingTables& tables, uint32_t shards, bool pools);

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

  // A step: pulls rows and bags, pushes their gradients, and has them applied. `bags` may be null.
  Result<ShardStepNs> Step(std::vector<RowBatch>* rows, std::vector<BagBatch>* bags = nullptr);

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
