// ForColumns: work on the columns of an array of samples, divided among the OpenMP threads.
//
// Exactness: a column is of one thread, so that its sum has the order that one thread gives it.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace rowhouse {

// Calls work(first, count) for parts of the columns, on the threads. Parts are as even as lines of
// the cache allow, of which no two threads share one.
template <typename Work>
void ForColumns(size_t samples, size_t columns, const Work& work) {
  constexpr size_t kLine = 16;                    // floats
  constexpr size_t kMinFloats = size_t{1} << 16;  // else a thread takes longer to wake up
  const auto threads = static_cast<size_t>(omp_get_max_threads());
  const size_t lines = (columns + kLine - 1) / kLine;
  const size_t part =
      samples * columns < kMinFloats ? columns : (lines + threads - 1) / threads * kLine;
  const auto parts = static_cast<int64_t>((columns + part - 1) / part);
#pragma omp parallel for schedule(static) if (parts > 1)
  for (int64_t i = 0; i < parts; ++i) {
    const size_t first = static_cast<size_t>(i) * part;
    work(first, std::min(part, columns - first));
  }
}

}  // namespace rowhouse
