// SampleSlice: a range of the samples of a batch. SliceOf: the range that a worker takes of a
// global batch. The first `batch_size mod workers` workers take one sample more than the others, as
// in numpy.array_split and in DLRM; with fewer samples than workers, the last workers take none.
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
