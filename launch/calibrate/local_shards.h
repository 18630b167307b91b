// LocalShards: one worker and some shards in this process, connected as in production: PsClient and
// Dialer here; each Shard with a thread, a store and a transport of its own, as if it were a PS
// node, behind a Unix socket, as for workers of its host, or behind loopback TCP. Rows of all
// tables are spread over the shards by row_wise.
//
// The caller says what is pulled and pushed. Rows lie in the shards' memory once they were pushed.
// Shards answer a push before they update their rows, but the answer may wait for the update, as
// threads share cores. So a second worker sends an empty push when the first one's has ended: only
// then can shards apply the step. The worker and the shards are bound to cores, each to the next
// one.
//
// Threads: one caller; the shards' are inside.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "common/transport/security.h"
#include "common/transport/transport.h"
#include "launch/bench/measured_shard.h"
#include "sharding/tables/embedding_tables.h"
#include "worker/client/ps_client.h"

namespace rowhouse {

// The cores that this thread may run on, ascending.
std::vector<int> AllowedCores();

// BoundToCore: keeps the calling thread, and those that it starts meanwhile, on one core until
// destruction, which gives it back the cores it had. Where the kernel puts threads that wake each
// other changes from run to run, and an exchange takes up to ten times as long as in another run.
// Where the system refuses, nothing is bound. Destroyed by the thread that made it.
class BoundToCore {
 public:
  explicit BoundToCore(int core);
  ~BoundToCore();
  BoundToCore(const BoundToCore&) = delete;
  BoundToCore& operator=(const BoundToCore&) = delete;

 private:
  cpu_set_t before_;
  bool is_bound_ = false;
};

// What an exchange took: from the first message until all is there, and the time of a core that
// each end took meanwhile, its ZeroMQ thread included.
struct ExchangeNs {
  double wall = 0, worker = 0, shards = 0;
};

struct LocalShardsOptions {
  bool pools = false;     // shards pool all bags
  bool over_tcp = false;  // loopback TCP; if false, Unix sockets
};

class LocalShards {
 public:
  static Result<std::unique_ptr<LocalShards>> Start(const EmbeddingTables& tables, uint32_t shards,
                                                    const LocalShardsOptions& options = {});

  // Pulls the rows and bags of a step. `bags` may be null.
  Result<ExchangeNs> Pull(std::vector<RowBatch>* rows, std::vector<BagBatch>* bags = nullptr);
  // Pushes the step's gradients: until the shards have them, and the worker their answers. Then has
  // the step applied, which is not counted.
  Result<ExchangeNs> Push(std::vector<RowBatch>* rows);

 private:
  LocalShards() = default;
  Status Open(const EmbeddingTables& tables, uint32_t shards, const LocalShardsOptions& options);
  Status Dial(const Plan& plan, const std::vector<ShardAddress>& addresses);
  Status ApplyStep();
  template <typename Begin>
  Result<ExchangeNs> Time(const Begin& begin);

  const SystemClock clock_;
  const Security security_{.kind = Security::Kind::kPlain, .key = NewKey()};  // as a run has it
  std::optional<BoundToCore> bound_;                                          // the caller
  // The worker leaves first, so that the shards have nothing left to send.
  std::vector<std::unique_ptr<ServedShard>> shards_;
  std::unique_ptr<Transport> worker_transport_;
  std::unique_ptr<Dialer> dialer_, second_dialer_;
  std::unique_ptr<PsClient> client_, second_;
  std::vector<pid_t> worker_threads_;  // of ZeroMQ
  uint64_t step_ = 0;
};

}  // namespace rowhouse
