// Server: a PS node. One well-known listener answers HELLO. The first HELLO of a job brings its
// tables and plan; the server then opens this node's shards and starts a ShardRunner for each. When
// all workers have said BYE it closes the shards and waits for the next job.
//
// A killed worker says no BYE, so its job stays open. The server refuses other jobs as long as it
// hears from the workers of this one. Once it has heard nothing from them for silence_ms, it ends
// the job when the next job asks.
//
// Threads: Run is called on one thread; each shard has two or three of its own. Any thread may set
//          `stop`.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/transport/transport.h"
#include "common/wire/hello.h"
#include "common/wire/message.h"
#include "ps/node/memory_estimate.h"
#include "ps/shard/node_options.h"
#include "ps/shard/senders.h"
#include "ps/shard/shard_runner.h"
#include "ps/store/readable_places.h"
#include "ps/store/store_environment.h"
#include "sharding/plans/access_counts.h"
#include "sharding/plans/job_spec.h"

namespace rowhouse {

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

class Server {
 public:
  // `shard_listener(k)` makes the listener of this node's k-th shard, for the calling thread.
  Server(const ServerOptions& options,
         std::function<Result<std::unique_ptr<Listener>>(size_t k)> shard_listener,
         const Clock& clock);
  ~Server();

  // Serves until `stop` is set or, with `one_job`, until a job has ended. Then it closes the shards
  // and saves nothing: rows that are dirty in their caches are lost. What an answered FLUSH covered
  // is safe at any time.
  Status Run(Listener& node, const std::atomic<bool>& stop, bool one_job);

 private:
  struct Job {
    JobSpec spec;
    uint32_t node = 0;
    TimeMs heard_at = 0;      // last HELLO; shards know of other messages
    std::set<uint32_t> gone;  // workers that said BYE
    Senders senders;          // that said HELLO
    std::vector<std::unique_ptr<ShardRunner>> runners;
    std::vector<ShardEndpoint> endpoints;
  };

  Frames Answer(const PeerId& peer, const Message& message);
  HelloReply OnHello(const PeerId& peer, const Header& header, const HelloRequest& request);
  Status OnBye(const PeerId& peer, const Header& header);
  // Opens a job; `node` is this node's number in it.
  Status OpenJob(JobSpec spec, uint32_t node);
  void MakeEnvironment(const NodeBudgets& budgets, uint32_t shards);
  Result<std::vector<std::unique_ptr<Shard>>> MakeShards(const Job& job,
                                                         const NodeBudgets& budgets) const;
  // The node's k-th.
  Status StartShard(Job& job, uint32_t k, std::unique_ptr<Shard> shard,
                    std::shared_ptr<CacheLedger> ledger);
  void EndJob();
  // Time since the last message of a worker of the job.
  TimeMs SilenceMs() const;
  Status CheckSameJob(const JobSpec& spec, uint32_t node) const;

  ServerOptions options_;
  const std::function<Result<std::unique_ptr<Listener>>(size_t)> shard_listener_;
  const Clock& clock_;
  std::shared_ptr<StoreEnvironment> environment_;
  std::optional<Job> job_;
};

}  // namespace rowhouse
