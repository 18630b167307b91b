#include "worker/scatter.h"

#include <glog/logging.h>

#include <algorithm>
#include <bit>

#include "common/random.h"

namespace rowhouse {

Scatter::Scatter(uint64_t size, uint64_t key) : size_(size) {
  CHECK(size >= 1 && size <= uint64_t{1} << 63) << size;
  const int bits = static_cast<int>(std::bit_width(size - 1));  // 0 .. 63
  mask_ = (uint64_t{1} << bits) - 1;
  shift_ = std::max(1, (bits + 1) / 2);
  for (uint64_t round = 0; round < round_keys_.size(); ++round) {
    round_keys_[round] = MixBits(key, round);
  }
}

uint64_t Scatter::operator()(uint64_t index) const {
  DCHECK_LT(index, size_);
  uint64_t x = index;
  do {
    for (const uint64_t round_key : round_keys_) {
      x = (x + round_key) & mask_;
      x = (x * 0xd6e8feb86659fd93u) & mask_;
      x ^= x >> shift_;
    }
  } while (x >= size_);
  return x;
}

}  // namespace rowhouse
