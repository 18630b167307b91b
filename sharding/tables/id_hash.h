// The hash of Micro-DLRM's virtual table, to the bit: two's complement, wrapping products
// and *arithmetic* right shifts. Because of these the result is never negative and id and ~id
// always meet under one seed; it is not SplitMix64.
#pragma once

#include <cstdint>

namespace rowhouse {

constexpr int64_t HashId(uint64_t id, uint64_t seed) {
  // Right shifts of negative numbers are arithmetic from C++20 on.
  const auto mix = [](uint64_t x, int shift) {
    return x ^ static_cast<uint64_t>(static_cast<int64_t>(x) >> shift);
  };
  uint64_t x = id ^ seed;
  x = mix(x, 30) * 0xBF58476D1CE4E5B9u;
  x = mix(x, 27) * 0x94D049BB133111EBu;
  return static_cast<int64_t>(mix(x, 31));
}

// Row of `buckets` rows, [0, buckets). Requires buckets >= 1.
constexpr uint64_t HashedRow(uint64_t id, uint64_t seed, uint64_t buckets) {
  return static_cast<uint64_t>(HashId(id, seed)) % buckets;
}

}  // namespace rowhouse
