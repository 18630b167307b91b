// ShardAddress: one shard as its clients see it.
#pragma once

#include <cstdint>
#include <string>

namespace rowhouse {

// Its index in a vector of all shards is its ShardId, and the number of its listener at the Dialer.
struct ShardAddress {
  std::string endpoint;  // "tcp://host:port", or "ipc://@name" where it shares the worker's host
  std::string name;      // "shard 3 (PS node 1, rank 1 on host a, tcp://...)", for logs and errors
  uint64_t incarnation = 0;
  std::string host;
  std::string directory;         // of its store on that host; "": rows are in memory
  std::string rows_digest = {};  // of rows that were moved there for this job; "": not known
};

}  // namespace rowhouse
