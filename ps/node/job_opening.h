// JobOpening: opens the shards of a job on this PS node, on a thread of its own, so that the node
// goes on answering. Rows that move to other shards are moved first, for all shards together; then
// shards open side by side.
//
// Threads: made and used on the server's thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "common/transport/transport.h"
#include "common/wire/hello.h"
#include "ps/node/memory_estimate.h"
#include "ps/shard/node_options.h"
#include "ps/shard/shard_opening.h"
#include "ps/shard/shard_runner.h"
#include "ps/store/opening.h"
#include "ps/store/readable_places.h"
#include "ps/store/store_environment.h"
#include "sharding/plans/access_counts.h"
#include "sharding/plans/job_spec.h"

namespace rowhouse {

// ServerOptions: what a PS node is told when it starts.
struct ServerOptions {
  std::string host;          // this machine's name, for messages to people
  uint64_t incarnation = 1;  // of this process
  NodeOptions node;
  // Read from node.cache_access_counts; null: not known.
  std::shared_ptr<const AccessCounts> access_counts = nullptr;
  ReadablePlaces readable = {};     // by jobs, besides what lies in node.row_dir
  uint64_t cache_move_steps = 256;  // see ShardOptions
  int64_t stall_limit_ms = 2000;    // limit of a store's Put; beyond it shards answer BUSY
  uint32_t silence_ms = 60000;      // after it a job's workers are taken for dead
  bool rows_end_with_job = false;   // shard directories are deleted at the end of the job
  // Logs jobs that begin and end, and workers that are refused. False if the workers write to the
  // same terminal.
  bool logs_jobs = true;
};

// Makes the listener of a node's k-th shard, for the calling thread.
using ShardListeners = std::function<Result<std::unique_ptr<Listener>>(size_t k)>;

// The shards of a job on one node. They share an environment, which the next job may use again.
struct OpenedShards {
  std::shared_ptr<StoreEnvironment> environment;
  std::vector<std::unique_ptr<ShardRunner>> runners;
  std::vector<ShardEndpoint> endpoints;
};

class JobOpening {
 public:
  // Begins. `node`: this node's number in the job. `environment`: of the job before; may be null.
  // `on_end` is called once, on the thread, when has_ended() is true. All references must outlive
  // the object.
  JobOpening(const ServerOptions& options, const JobSpec& job, uint32_t node,
             const ShardListeners& shard_listener, const Clock& clock,
             std::shared_ptr<StoreEnvironment> environment, std::function<void()> on_end);
  // Tells the thread to stop, and waits for it.
  ~JobOpening();
  JobOpening(const JobOpening&) = delete;
  JobOpening& operator=(const JobOpening&) = delete;

  bool has_ended() const { return has_ended_; }
  const OpeningProgress& progress() const { return *progress_; }

  // The shards, which serve already. Requires has_ended(). Call it once.
  Result<OpenedShards> Take();

 private:
  // What a shard stands on.
  struct Rows {
    std::unique_ptr<ShardStore> store;
    std::unique_ptr<PushLog> log;
  };

  Result<OpenedShards> Open();
  // `guesses`: whether rows are looked up that are not stored.
  std::shared_ptr<StoreEnvironment> MakeEnvironment(const NodeBudgets& budgets, bool guesses) const;
  bool DoSavedRowsGuess() const;
  Result<std::vector<std::unique_ptr<Shard>>> MakeShards(const NodeBudgets& budgets) const;
  ShardOpeningOptions OpeningOptions(const std::shared_ptr<StoreEnvironment>& environment) const;
  Status MoveRows(const std::shared_ptr<StoreEnvironment>& environment);
  Result<std::vector<Rows>> OpenRows(const std::vector<std::unique_ptr<Shard>>& shards,
                                     const std::shared_ptr<StoreEnvironment>& environment);
  // Of the node's k-th shard, which it tells what is stored.
  Result<Rows> OpenRowsOf(uint32_t k, Shard* shard,
                          const std::shared_ptr<StoreEnvironment>& environment);
  ShardId IdOf(uint32_t k) const { return ShardId{node_ * job_.shards_per_node + k}; }

  const ServerOptions& options_;
  const JobSpec& job_;
  const uint32_t node_;
  const ShardListeners& shard_listener_;
  const Clock& clock_;
  const std::shared_ptr<StoreEnvironment> environment_;
  const std::shared_ptr<OpeningProgress> progress_ = std::make_shared<OpeningProgress>();
  Result<OpenedShards> opened_ = Status(StatusCode::kInternal, "the opening has not ended");
  std::atomic<bool> has_ended_ = false;  // Then opened_ is the owner's.
  std::thread thread_;
};

}  // namespace rowhouse
