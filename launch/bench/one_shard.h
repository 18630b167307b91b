// OneShard: one worker and one shard in this process, connected as in production: PsClient and
// Dialer here; Shard, row cache, store and ShardRunner behind loopback TCP. The benches of pull,
// push and the storage tier run on it.
//
// It has one table. For pull and push all rows of the steps are in the cache before anything is
// measured, so that the store has no part in the figure. The tier brings a store, a smaller cache
// and its own batches. Threads: one caller; the shard's are inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/clock.h"
#include "common/phase_log.h"
#include "common/status.h"
#include "common/transport/security.h"
#include "common/transport/transport.h"
#include "common/wire/control.h"
#include "launch/bench/measured_shard.h"
#include "launch/profile/run_profile.h"
#include "ps/store/row_store.h"
#include "worker/client/ps_client.h"
#include "worker/embedding/row_batch.h"

namespace rowhouse {

struct OneShardOptions {
  uint64_t table_rows = 2'000'000;  // >= step_rows()
  uint32_t dim = 64;
  size_t request_rows = 20'000;
  size_t step_requests = 20;                 // full requests of a step
  size_t steps = 2;                          // different steps, used in turn
  size_t window = 4;                         // requests in flight
  RowPrecision row_precision = {};           // of pulls and pushes
  uint32_t workers = 1;                      // of the shard, the first of which is here
  std::string listen = "tcp://127.0.0.1:0";  // or "ipc://..."
  bool encrypts = false;                     // as with --encrypt
  // Rows that the cache holds; 0: all rows, as a direct array. Must be so large that no set gets
  // more rows of the steps than it has ways, or Start fails.
  uint64_t cache_rows = 0;

  size_t step_rows() const { return request_rows * step_requests; }
};

// A step's distinct rows, spread over the whole table and ascending, and their gradients. The same
// for the same key.
RowBatch SpreadBatch(const OneShardOptions& options, uint64_t key);

// A worker's client of a OneShard of these options.
struct OneShardClient {
  std::unique_ptr<Transport> transport;
  std::unique_ptr<Dialer> dialer;
  std::unique_ptr<PsClient> client;

  static Result<OneShardClient> Make(const OneShardOptions& options, const ShardAddress& address,
                                     const Security& security, WorkerRank worker);
};

class OneShard {
 public:
  // `store`: with rows of table 0, if any; null: an empty one in memory. With a store the caller
  // brings the batches, and pull and push are not measured.
  static Result<std::unique_ptr<OneShard>> Start(const OneShardOptions& options,
                                                 std::unique_ptr<RowStore> store = nullptr);

  // Pulls the rows of `steps` steps, or pushes gradients for them and has them applied (SGD).
  // Returns rows a second; kInternal if the shard counted other work than that.
  Result<double> PulledRowsPerSecond(size_t steps) {
    return RowsPerSecond(Operation::kPull, steps);
  }
  Result<double> PushedRowsPerSecond(size_t steps) {
    return RowsPerSecond(Operation::kPush, steps);
  }

  // For a client of another worker.
  const ShardAddress& address() const { return shard_->address(); }
  const Security& security() const { return security_; }
  // Bytes of all frames that the worker sent and received.
  uint64_t moved_bytes() const { return worker_.client->moved_bytes().all; }

  // Pulls the rows of one batch of table 0, and, to change them, pushes its gradients.
  Status Pull(std::vector<RowBatch>* batches);
  Status PullAndPush(std::vector<RowBatch>* batches);
  // Says which rows the pull of the step `steps_ahead` pushes from now will ask for.
  Status Prefetch(uint64_t steps_ahead, const std::vector<RowBatch>& batches);
  Result<StatsReply> Stats();

  // From now on time is divided more finely, here and on the shard (`bench --profile`).
  Status BeginProfile();
  // Since then: a rank for the client, and one for the shard. A step of the profile is one of
  // Run's.
  Result<RunProfile> TakeProfile();

 private:
  explicit OneShard(const OneShardOptions& options);

  enum class Operation { kPull, kPush };
  Status Run(Operation operation);
  Result<double> RowsPerSecond(Operation operation, size_t steps);

  const OneShardOptions options_;
  const SystemClock clock_;
  PhaseLog phases_;      // of the client: pull, push, other
  MessageLog messages_;  // if the phases keep spans
  ClientPhases pull_phases_, push_phases_;
  uint64_t runs_ = 0;        // since the profile began
  const Security security_;  // as a run has it
  // The worker leaves first, so that the shard has nothing left to send.
  std::unique_ptr<ServedShard> shard_;
  OneShardClient worker_;
  // The rows of several steps, in turn, so that rows have left the CPU's caches when they are used
  // again.
  std::vector<std::vector<RowBatch>> batches_;
  size_t next_batch_ = 0;
  uint64_t step_ = 0;  // pushes done
};

}  // namespace rowhouse
