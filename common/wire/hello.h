// HELLO: a worker introduces itself at the port of a PS node and learns the endpoints of its
// shards.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/wire/header.h"

namespace rowhouse {

// Payload: none. header.sender is the worker's rank.
struct HelloRequest {
  static constexpr MessageType kType = MessageType::kHello;
  std::string host;      // the worker's, for logs and errors
  uint32_t node = 0;     // number of the PS node asked, from 0
  std::string job_json;  // sharding/plans/job_spec.h; the same from every worker

  template <class Archive>
  void serialize(Archive& archive) {
    archive(host, node, job_json);
  }
};

struct ShardEndpoint {
  uint32_t shard = 0;     // ShardId
  std::string endpoint;   // with host "0.0.0.0", the worker uses the host of the node's address
  std::string directory;  // of its store, on the node's host; "": rows are in memory

  template <class Archive>
  void serialize(Archive& archive) {
    archive(shard, endpoint, directory);
  }
};

struct HelloReply {
  static constexpr MessageType kType = MessageType::kHelloReply;
  uint8_t code = 0;  // StatusCode
  std::string message;
  std::string host;  // the node's
  uint32_t pid = 0;
  std::vector<ShardEndpoint> shards;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(code, message, host, pid, shards);
  }
};

}  // namespace rowhouse
