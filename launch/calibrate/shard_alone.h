// ShardAlone: a shard on the caller's thread, without sockets: what it computes, and nothing else.
// Messages are those of a PsClient. Threads: one.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/status.h"
#include "launch/calibrate/measured_shard.h"
#include "sharding/tables/embedding_tables.h"
#include "worker/client/ps_client.h"

namespace rowhouse {

// Nanoseconds of what a shard does in a step of one worker.
struct ShardStepNs {
  double pull = 0;    // answering the pull
  double push = 0;    // taking the push
  double update = 0;  // applying the step
};

class ShardAlone {
 public:
  // `pools`: it pools all bags. `cache_ratio`: see MeasuredShard.
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
