// PREFETCH: rows that a worker will pull in step header.step, so that the shard can read them
// before and keep them until then. An announcement, not a request: it is not answered, may be
// ignored, and changes nothing that a pull returns.
#pragma once

#include <cstdint>
#include <vector>

#include "common/wire/pull.h"

namespace rowhouse {

// Payload: ids u64 (all tables' rows, in order).
struct PrefetchRequest {
  static constexpr MessageType kType = MessageType::kPrefetch;
  std::vector<TableRows> tables;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(tables);
  }
};

}  // namespace rowhouse
