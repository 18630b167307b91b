// Threads: any.
#pragma once

#include <cstddef>

#include "common/kernels/target_clones.h"

namespace rowhouse {

// Asks the CPU for all lines of a row. Always inlined, and to be called from nothing that does
// nothing else: gcc takes a function that only prefetches for one without effect, and drops calls.
ROWHOUSE_KERNEL_BODY void FetchRow(const void* row, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 64) {
    __builtin_prefetch(static_cast<const std::byte*>(row) + at, /*rw=*/1);
  }
}

}  // namespace rowhouse
