// Random bits by key and number: a draw depends on nothing else, so that any thread or rank may
// make any draw, in any order, without state.
//
// Source: SplitMix64 (Steele, Lea and Flood, 2014) with its finaliser, Stafford's variant 13. Not
// for cryptography. These numbers define the initial values of rows that are not stored, and every
// result: they never change.
//
// numpy's generator, which defines DLRM's data, is in common/numpy_random.h.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace rowhouse {

// A bijection of 64-bit words in which each bit of x changes half the bits of the result.
// Mix64(0) is 0.
constexpr uint64_t Mix64(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

inline constexpr uint64_t kMix64Gamma = 0x9e3779b97f4a7c15u;  // 2^64 / golden ratio, odd

// The key of one purpose ("ids of feature 3") under a seed. Chain it for more parts:
// MixKey(MixKey(seed, table), column).
constexpr uint64_t MixKey(uint64_t seed, uint64_t stream) {
  return Mix64(Mix64(seed + kMix64Gamma) ^ Mix64(stream + 2 * kMix64Gamma));
}

// Draw number `counter` under `key`. The counter is mixed before the key comes in, so that no key
// gives the sequence of another key shifted by some number of draws.
constexpr uint64_t MixBits(uint64_t key, uint64_t counter) {
  return Mix64(key ^ Mix64(counter + kMix64Gamma));
}

// [0, 1), a multiple of 2^-53.
constexpr double ToUnitDouble(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

// A standard normal from two words (Box and Muller, 1958), at most 8.6 in size.
inline double ToNormal(uint64_t radius_bits, uint64_t angle_bits) {
  const double u = static_cast<double>((radius_bits >> 11) + 1) * 0x1p-53;  // (0, 1]
  return std::sqrt(-2.0 * std::log(u)) *
         std::cos(2.0 * std::numbers::pi * ToUnitDouble(angle_bits));
}

// A sequence of draws, for uses that need an unknown number of them, such as rejection: seed one
// with MixBits(key, number of the use).
class SplitMix64 {
 public:
  explicit constexpr SplitMix64(uint64_t seed) : state_(seed) {}
  constexpr uint64_t Next() { return Mix64(state_ += kMix64Gamma); }

 private:
  uint64_t state_;
};

}  // namespace rowhouse
