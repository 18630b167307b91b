// Server: a PS node. One well-known listener answers HELLO; the first HELLO of a job brings the
// job's tables and plan, opens this node's shards and starts a ShardRunner for each. When all
// workers have said BYE the shards are closed and the node waits for the next job.
//
// Workers that were killed say no BYE: a job of which nothing was heard for silence_ms gives way to
// the next one that asks. Until then others are refused.
//
// Threads: Run on one thread; each shard has two of its own. `stop` may be set by any.
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
#include "ps/node/node_options.h"
#include "ps/shard/shard_runner.h"
#include "ps/store/store_environment.h"
#include "sharding/plans/access_counts.h"
#include "sharding/tables/job_spec.h"

namespace rowhouse {

struct ServerOptions {
  std::string host;          // this machine's name, for messages to people
  uint64_t incarnation = 1;  // of this process
  NodeOptions node;
  // Read from node.cache_access_counts; null: not known.
  std::shared_ptr<const AccessCounts> access_counts = nullptr;
  uint64_t cache_move_steps = 256;  // see ShardOptions
  int64_t stall_limit_ms = 2000;    // a Put of a store waits no longer; then shards say BUSY
  uint32_t silence_ms = 60000;      // after which a job's workers may be taken for dead
  bool rows_end_with_job = false;   // row_dir is nobody's: shard directories are deleted
  // Logs jobs that begin and end, and workers that are refused. False: they speak in the same
  // terminal.
  bool logs_jobs = true;
};

class Server {
 public:
  // `shard_listener(k)` makes the listener of this node's k-th shard on the thread that asks.
  Server(const ServerOptions& options,
         std::function<Result<std::unique_ptr<Listener>>(size_t k)> shard_listener,
         const Clock& clock);
  ~Server();

  // Serves until `stop`, or until a job has ended if `one_job`; then writes nothing more, closes
  // the shards and returns. What an answered FLUSH covered is safe at any time.
  Status Run(Listener& node, const std::atomic<bool>& stop, bool one_job);

 private:
  struct Job {
    JobSpec spec;
    uint32_t node = 0;
    TimeMs heard_at = 0;      // HELLO; the shards know of the rest
    std::set<uint32_t> gone;  // workers that said BYE
    std::vector<std::unique_ptr<ShardRunner>> runners;
    std::vector<ShardEndpoint> endpoints;
  };

  Frames Answer(const Message& message);
  HelloReply OnHello(const Header& header, const HelloRequest& request);
  Status OpenJob(JobSpec spec, uint32_t node);
  void EndJob();
  // How long ago a worker of the job was heard last.
  TimeMs SilenceMs() const;
  Status CheckSameJob(const JobSpec& spec, uint32_t node) const;

  ServerOptions options_;
  const std::function<Result<std::unique_ptr<Listener>>(size_t)> shard_listener_;
  const Clock& clock_;
  std::shared_ptr<StoreEnvironment> environment_;
  std::optional<Job> job_;
};

}  // namespace rowhouse
