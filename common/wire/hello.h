// HELLO: a worker introduces itself at the port of a PS node and learns the endpoints of its
// shards. While the node opens them it answers, about once a second, how far it is, and the worker
// asks again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/serialized.h"
#include "common/wire/header.h"

namespace rowhouse {

// Payload: none. header.sender is the worker's rank.
struct HelloRequest {
  static constexpr MessageType kType = MessageType::kHello;
  std::string host;   // the worker's, for logs and errors
  uint32_t node = 0;  // number of the PS node asked, from 0
  // sharding/plans/job_spec.h; the same from every worker. "": as in this worker's first HELLO.
  std::string job_json;
  SERIALIZED(host, node, job_json);
};

struct ShardEndpoint {
  uint32_t shard = 0;    // ShardId
  std::string endpoint;  // with host "0.0.0.0", the worker uses the host of the node's address
  std::string
      local_endpoint;       // of a Unix socket, for workers of the node's host; "": there is none
  std::string directory;    // of its store, on the node's host; "": rows are in memory
  std::string rows_digest;  // of rows that were moved there for this job; "": not known
  SERIALIZED(shard, endpoint, local_endpoint, directory, rows_digest);
};

struct HelloReply {
  static constexpr MessageType kType = MessageType::kHelloReply;
  uint8_t code = 0;  // StatusCode
  std::string message;
  std::string host;  // the node's
  uint32_t pid = 0;
  std::vector<ShardEndpoint> shards;
  bool is_opening = false;  // the node has no shards yet, and is opening them
  // Bytes of rows that it has opened; of how many, as far as it knows.
  uint64_t bytes_done = 0;
  uint64_t bytes_total = 0;
  SERIALIZED(code, message, host, pid, shards, is_opening, bytes_done, bytes_total);
};

}  // namespace rowhouse
