// HELLO: a worker meets a PS node on its one well-known port and learns its shards' endpoints.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/wire/header.h"

namespace rowhouse {

// Payload: none. header.sender is the worker's rank.
struct HelloRequest {
  static constexpr MessageType kType = MessageType::kHello;
  std::string host;      // the worker's, for messages to people
  uint32_t node = 0;     // which PS node of the run this one is, from 0
  std::string job_json;  // sharding/tables/job_spec.h; the same from every worker

  template <class Archive>
  void serialize(Archive& archive) {
    archive(host, node, job_json);
  }
};

struct ShardEndpoint {
  uint32_t shard = 0;     // ShardId
  std::string endpoint;   // host "0.0.0.0" means: the host the node was reached at
  std::string directory;  // of its rows, on the node's host; "" for rows in memory

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
