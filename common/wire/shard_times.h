// ShardTimes: how the time of a shard divides, as STATS brings it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rowhouse {

// Of the shard's thread.
enum class ShardPhase : uint32_t {
  kWait,    // for messages; receiving them, too, unless the shard is profiled
  kSocket,  // sending, and receiving if the shard is profiled
  kDecode,  // from bytes to requests that are checked
  kLookup,  // finding rows in the cache, of pulls; 0 unless the shard is profiled
  kGather,  // copying rows to the answer, first values; with kLookup unless profiled
  kEncode,  // from answers to bytes; pooling of bags
  kUpdate,  // applying steps: summing over workers, optimizers
  kStore,   // handing actions to the I/O thread, taking in what it read
  kOther,   // saves, counters, moves of cache
  kCount,
};
inline constexpr std::array<const char*, static_cast<size_t>(ShardPhase::kCount)> kShardPhaseNames =
    {"wait", "socket", "decode", "lookup", "gather", "encode", "update", "store", "other"};

// Of the shard's I/O thread: in the store.
enum class StorePhase : uint32_t { kIdle, kRead, kWrite, kOther, kCount };
inline constexpr std::array<const char*, static_cast<size_t>(StorePhase::kCount)> kStorePhaseNames =
    {"idle", "read", "write", "other"};

// Nanoseconds since the shard started, or since its profile began.
struct ShardTimes {
  std::array<uint64_t, kShardPhaseNames.size()> shard = {};
  std::array<uint64_t, kStorePhaseNames.size()> store = {};

  uint64_t ns(ShardPhase phase) const { return shard[static_cast<size_t>(phase)]; }
  uint64_t ns(StorePhase phase) const { return store[static_cast<size_t>(phase)]; }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(shard, store);
  }
};

}  // namespace rowhouse
