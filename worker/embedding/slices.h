// Slices: which samples of a global batch a worker takes. The first batch_size mod workers take
// one more than the others, as numpy.array_split and DLRM do; workers beyond the samples take none.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/types.h"

namespace rowhouse {

struct SampleSlice {
  uint64_t first = 0;  // within the batch
  uint64_t count = 0;

  friend bool operator==(const SampleSlice&, const SampleSlice&) = default;
};

// Requires Raw(worker) < workers.
constexpr SampleSlice SliceOf(uint64_t batch_size, uint32_t workers, WorkerRank worker) {
  const uint64_t share = batch_size / workers;
  const uint64_t larger = batch_size % workers;  // workers that take one more
  const uint64_t index = Raw(worker);
  return {index * share + std::min(index, larger), share + (index < larger ? 1 : 0)};
}

}  // namespace rowhouse
