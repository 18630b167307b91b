// PROFILE: what a worker asks a shard about where its time and memory went. A shard answers at
// once, whatever its step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/phase_log.h"
#include "common/serialized.h"
#include "common/wire/header.h"
#include "common/wire/message_log.h"

namespace rowhouse {

enum class ProfileWish : uint8_t {
  kClock,  // only the time
  kBegin,  // spans are kept from now on, and time is divided more finely
  kTake,   // all there is
};

struct ProfileRequest {
  static constexpr MessageType kType = MessageType::kProfile;
  uint8_t wish = 0;  // ProfileWish
  SERIALIZED(wish);
};

struct ThreadRecord {
  std::string thread;  // "shard", "store", "push log", "worker"
  PhaseRecord record;
  SERIALIZED(thread, record);
};

struct MemoryPart {
  std::string name;    // "cache"
  uint64_t bytes = 0;  // the most so far
  SERIALIZED(name, bytes);
};

struct ProfileReply {
  static constexpr MessageType kType = MessageType::kProfileReply;
  uint8_t code = 0;  // StatusCode
  std::string message;
  int64_t now_ns = 0;  // by the clock of the spans
  uint32_t pid = 0;    // shards of one process have the same
  std::vector<ThreadRecord> threads;
  std::vector<MemoryPart> memory;   // of this shard
  uint64_t process_peak_bytes = 0;  // of the process; 0: not known
  std::vector<MessageTimes> messages;
  SERIALIZED(code, message, now_ns, pid, threads, memory, process_peak_bytes, messages);
};

}  // namespace rowhouse
