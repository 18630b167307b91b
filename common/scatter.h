// Scatter: a pseudorandom permutation of 0 .. size - 1 that takes no memory: neighbours come to
// places all over the range.
//
// It permutes the next power of two by invertible steps (add a key, multiply by an odd number, fold
// the upper half onto the lower) and repeats them while the result is >= size (cycle walking, Black
// and Rogaway, 2002): fewer than two rounds on average. Not for cryptography.
#pragma once

#include <glog/logging.h>

#include <array>
#include <cstdint>

namespace rowhouse {

class Scatter {
 public:
  // Requires size in [1, 2^63].
  Scatter(uint64_t size, uint64_t key);

  // Requires index < size; different indexes give different results below size.
  uint64_t operator()(uint64_t index) const {
    DCHECK_LT(index, size_);
    uint64_t x = index;
    do {
      for (const uint64_t round_key : round_keys_) {
        x = (x + round_key) & mask_;
        x = (x * kFactor) & mask_;
        x ^= x >> shift_;
      }
    } while (x >= size_);
    return x;
  }

  // The index that has this place: Inverse((*this)(i)) == i. Requires place < size.
  uint64_t Inverse(uint64_t place) const;

 private:
  static constexpr uint64_t kFactor = 0xd6e8feb86659fd93u;  // odd

  uint64_t size_;
  uint64_t mask_;  // the next power of two, less one
  int shift_;      // half the bits of the mask
  std::array<uint64_t, 3> round_keys_;
};

}  // namespace rowhouse
