// ServerOptions: what a PS node is told when it starts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "ps/shard/node_options.h"
#include "ps/store/readable_places.h"
#include "sharding/plans/access_counts.h"

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

}  // namespace rowhouse
