#include "common/scatter.h"

#include <algorithm>
#include <bit>

#include "common/random.h"

namespace rowhouse {
namespace {

// x with x * kFactor == 1 mod 2^64; each step doubles the bits that are right (Newton).
constexpr uint64_t InverseOf(uint64_t odd) {
  uint64_t x = odd;
  for (int step = 0; step < 5; ++step) x *= 2 - odd * x;
  return x;
}

}  // namespace

Scatter::Scatter(uint64_t size, uint64_t key) : size_(size) {
  CHECK(size >= 1 && size <= uint64_t{1} << 63) << size;
  const int bits = static_cast<int>(std::bit_width(size - 1));  // 0 .. 63
  mask_ = (uint64_t{1} << bits) - 1;
  shift_ = std::max(1, (bits + 1) / 2);
  for (uint64_t round = 0; round < round_keys_.size(); ++round) {
    round_keys_[round] = MixBits(key, round);
  }
}

uint64_t Scatter::Inverse(uint64_t place) const {
  DCHECK_LT(place, size_);
  constexpr uint64_t kInverse = InverseOf(kFactor);
  static_assert(kFactor * kInverse == 1);
  uint64_t x = place;
  do {
    for (size_t round = round_keys_.size(); round-- > 0;) {
      x ^= x >> shift_;  // Undoes itself: the shift is at least half of the bits.
      x = (x * kInverse) & mask_;
      x = (x - round_keys_[round]) & mask_;
    }
  } while (x >= size_);
  return x;
}

}  // namespace rowhouse
