// Mix64: the hash behind everything that is random "by number" instead of in sequence.
#pragma once

#include <cstdint>

namespace rowhouse {

// The finaliser of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
// generators", 2014, with Stafford's variant 13 constants): a bijection of 64-bit words in which
// every input bit flips every output bit with probability near 1/2. Values that were once drawn
// with it are part of models on disk: it never changes.
constexpr uint64_t Mix64(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// What SplitMix64 adds between draws (2^64 / golden ratio, odd): Mix64(key + k * kMixIncrement),
// k = 1, 2, ... is its sequence from state `key`.
inline constexpr uint64_t kMixIncrement = 0x9e3779b97f4a7c15u;

}  // namespace rowhouse
