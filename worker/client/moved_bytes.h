// MovedBytes: bytes of the frames that a client sent and took in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/frame.h"

namespace rowhouse {

struct MovedBytes {
  explicit MovedBytes(size_t shards) : by_shard(shards) {}

  void Add(size_t shard, const Frames& frames) {
    for (const Frame& frame : frames) {
      all += frame.size();
      by_shard[shard] += frame.size();
    }
  }

  uint64_t all = 0;
  std::vector<uint64_t> by_shard;  // of `all`
};

}  // namespace rowhouse
