// KeptTimes: what a worker of a profiled run keeps of its steps besides the spans of its phases, so
// that waiting can be told from work once the times of all ranks are together.
//
// Threads: plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/clock.h"
#include "common/wire/message_log.h"

namespace rowhouse {

// When a worker came to the allreduce of a step, and when it had the sums.
struct AllreduceTimes {
  uint64_t step = 0;
  TimeNs begin = 0, end = 0;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(step, begin, end);
  }
};

struct KeptTimes {
  static constexpr size_t kMaxAllreduces = size_t{1} << 16;  // the first ones

  std::vector<AllreduceTimes> allreduces;  // none of a worker that is alone
  MessageLog messages;
};

}  // namespace rowhouse
