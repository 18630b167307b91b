// PREFETCH: rows that a worker will pull in step header.step. The shard may read them from its
// store before that step and keep them in its cache until then. It does not answer, may ignore the
// message, and returns the same values to the pull in either case.
#pragma once

#include <cstdint>
#include <vector>

#include "common/wire/pull.h"

namespace rowhouse {

// Payload: ids u64, of the rows of `tables`, in order.
struct PrefetchRequest {
  static constexpr MessageType kType = MessageType::kPrefetch;
  std::vector<TableRows> tables;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(tables);
  }
};

}  // namespace rowhouse
