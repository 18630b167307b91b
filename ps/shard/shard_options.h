// ShardOptions: what one shard is told when it opens.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/types.h"
#include "ps/shard/node_options.h"
#include "ps/shard/request_memory.h"
#include "sharding/plans/access_counts.h"
#include "sharding/rows/record.h"

namespace rowhouse {

struct ShardOptions {
  NodeOptions node;  // Server divides cache_mb and memory_limit_mb among the shards of the node
  ShardId id{};
  std::string name;  // "shard 3 (PS node 1 on host a)", for messages to people
  uint64_t job_id = 0;
  uint64_t incarnation = 0;  // of this server process; requests name it
  uint32_t workers = 1;
  RowPrecision row_precision = {};                      // of pulls' answers and of pushes
  uint64_t first_step = 0;                              // steps applied before this run
  uint64_t cache_bytes = NodeOptions().cache_mb << 20;  // over its tables, when it opens
  // Bytes of caches may move between its tables, and between the shards of the node, every this
  // many steps; AskCacheBudget must then be answered. 0: never. The same for all shards of a node.
  uint64_t cache_move_steps = 0;
  // Read from node.cache_access_counts: caches begin with the hottest rows. Null: they begin empty.
  std::shared_ptr<const AccessCounts> access_counts = nullptr;
  // With a push log: a lap of the sweeper ends after at most this many bytes of log. A log holds
  // two laps, and what is pushed while the rows of the second are synced.
  uint64_t max_lap_log_bytes = uint64_t{512} << 20;
  uint64_t max_unwritten_bytes = 256 << 20;  // writes under way; beyond it pulls and saves wait
  // Rows being prefetched and next uses remembered, bytes; beyond it rows are not prefetched.
  uint64_t max_prefetch_bytes = 64 << 20;
  // Shared by the shards of the node.
  std::shared_ptr<RequestMemory> request_memory = std::make_shared<RequestMemory>();
  std::shared_ptr<AnswerMemory> answer_memory = std::make_shared<AnswerMemory>();
  // A save notes which rows were ever written, so that opening them again needs no scan. It takes
  // memory meanwhile, at most a sixteenth of cache_bytes. For stores that have a directory.
  bool keeps_written_rows = false;
  bool rows_end_with_job = false;  // the directory is deleted then: no checkpoint is made
};

}  // namespace rowhouse
