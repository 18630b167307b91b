// KeyedShuffle: a permutation that depends on its key and the number of values only (Fisher and
// Yates; Durstenfeld, 1964). Threads: pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "common/random.h"

namespace rowhouse {

// The first `first` values become a random choice of all, in random order; all, if it is
// values.size().
template <typename T>
void KeyedShuffle(uint64_t key, size_t first, std::span<T> values) {
  for (size_t i = 0; i < first; ++i) {
    // The high half of a product is a number below the factor, with a bias below 2^-32.
    const unsigned __int128 product =
        static_cast<unsigned __int128>(MixBits(key, i)) * (values.size() - i);
    std::swap(values[i], values[i + static_cast<size_t>(product >> 64)]);
  }
}

}  // namespace rowhouse
