// OneShard: one worker and one shard as in production, in this process: PsClient and Dialer here,
// Shard, row cache, store and ShardRunner behind loopback TCP. What pull, push and the storage tier
// are measured on.
//
// One table. For pull and push its rows, or those of its steps, fit into the cache: a step's rows
// are spread evenly over it and all of them exist in the cache before anything is measured, so that
// no store is in the figure. The tier brings a store, a smaller cache and batches of its own.
// Threads: one caller; the shard's are inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "common/transport/transport.h"
#include "common/wire/control.h"
#include "ps/shard/shard_runner.h"
#include "ps/store/row_store.h"
#include "worker/client/ps_client.h"
#include "worker/embedding/row_batch.h"

namespace rowhouse {

struct OneShardOptions {
  uint64_t table_rows = 2'000'000;  // >= step_rows()
  uint32_t dim = 64;
  size_t request_rows = 20'000;
  size_t step_requests = 20;  // of a step, each full
  size_t steps = 2;           // with rows of their own, in turn
  size_t window = 4;          // requests in flight
  // Rows the cache holds; 0: all, as a direct array. Else it must be large enough that no set has
  // more rows of the steps than ways, or the figure is refused.
  uint64_t cache_rows = 0;
  // Rows of table 0 that exist already; null: none, in memory. Then `pull` and `push` measure
  // nothing: batches are the caller's.
  std::shared_ptr<RowStore> store = nullptr;

  size_t step_rows() const { return request_rows * step_requests; }
};

class OneShard {
 public:
  static Result<std::unique_ptr<OneShard>> Start(const OneShardOptions& options);
  ~OneShard();
  OneShard(const OneShard&) = delete;
  OneShard& operator=(const OneShard&) = delete;

  // Pulls the rows of `steps` steps, or pushes gradients for them and has them applied (SGD).
  // Returns rows a second; kInternal if the shard counted other work than that.
  Result<double> PulledRowsPerSecond(size_t steps);
  Result<double> PushedRowsPerSecond(size_t steps);

  // Pulls the rows of one batch of table 0, and, to change them, pushes its gradients.
  Status Pull(std::vector<RowBatch>* batches);
  Status PullAndPush(std::vector<RowBatch>* batches);
  // Says which rows the pull of the step so many pushes from now will ask for.
  Status Prefetch(uint64_t steps_ahead, const std::vector<RowBatch>& batches);
  Result<StatsReply> Stats();

 private:
  explicit OneShard(const OneShardOptions& options);

  enum class Operation { kPull, kPush };
  Status Run(Operation operation);
  Result<double> RowsPerSecond(Operation operation, size_t steps);

  const OneShardOptions options_;
  const SystemClock clock_;
  std::unique_ptr<Transport> shard_transport_, worker_transport_;
  std::unique_ptr<ShardRunner> runner_;
  std::unique_ptr<Dialer> dialer_;
  std::unique_ptr<PsClient> client_;
  // Several steps' rows in turn, so that a row has left the CPU's caches when it is wanted again.
  std::vector<std::vector<RowBatch>> batches_;
  size_t next_batch_ = 0;
  uint64_t step_ = 0;  // pushes done
};

}  // namespace rowhouse
