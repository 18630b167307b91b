// What half_precision.cc compiles for each instruction set. Include that header, not this one.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "common/kernels/target_clones.h"
#include "common/random.h"

namespace rowhouse::kernel_bodies {

// A way to round off the last `Bits` bits of a magnitude: Addend is added, and then the bits are
// cut off.
struct ToNearestEven {
  template <int Bits, typename Word>
  ROWHOUSE_KERNEL_BODY Word Addend(Word magnitude, size_t) const {
    return ((Word{1} << (Bits - 1)) - 1) + (magnitude >> Bits & 1);
  }
};

struct Stochastically {
  uint64_t key;
  uint64_t first;

  template <int Bits, typename Word>
  ROWHOUSE_KERNEL_BODY Word Addend(Word, size_t i) const {
    static_assert(Bits <= 32);
    return static_cast<Word>(MixBits(key, first + i) >> (64 - Bits));
  }
};

inline constexpr uint32_t kInfinity = 0x7f800000;  // f32's

ROWHOUSE_KERNEL_BODY void WidenBf16(const uint16_t* halves, float* values, size_t n) {
  for (size_t i = 0; i < n; ++i) values[i] = std::bit_cast<float>(uint32_t{halves[i]} << 16);
}

ROWHOUSE_KERNEL_BODY void AddBf16(const uint16_t* halves, float* sums, size_t n) {
  for (size_t i = 0; i < n; ++i) sums[i] += std::bit_cast<float>(uint32_t{halves[i]} << 16);
}

// In the lower 16 bits.
template <typename Rounding>
ROWHOUSE_KERNEL_BODY uint32_t Bf16Of(const Rounding& rounding, float value, size_t i) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7fffffff;
  uint32_t half = (magnitude + rounding.template Addend<16>(magnitude, i)) >> 16;
  half = half > 0x7f7f ? 0x7f7f : half;
  // Infinity stays itself. A NaN whose payload would be cut off whole would become infinity, so it
  // becomes the NaN 0x7fc0.
  const uint32_t cut = magnitude >> 16;
  const uint32_t special = magnitude > kInfinity && cut == 0x7f80 ? 0x7fc0 : cut;
  half = magnitude >= kInfinity ? special : half;
  return (bits >> 16 & 0x8000) | half;
}

template <typename Rounding>
ROWHOUSE_KERNEL_BODY void RoundToBf16(const Rounding& rounding, const float* values,
                                      uint16_t* halves, size_t n) {
  for (size_t i = 0; i < n; ++i) halves[i] = static_cast<uint16_t>(Bf16Of(rounding, values[i], i));
}

// Whether rounding to nearest makes a finite bf16 of each, with nothing to be cut down.
ROWHOUSE_KERNEL_BODY bool StayWithinBf16(const float* values, size_t n) {
  constexpr uint32_t kFirstBeyond = 0x7f7f8000;  // It and all above would become infinity or NaN.
  uint32_t most = 0;
  for (size_t i = 0; i < n; ++i) {
    const uint32_t magnitude = std::bit_cast<uint32_t>(values[i]) & 0x7fffffff;
    most = magnitude > most ? magnitude : most;
  }
  return most < kFirstBeyond;
}

// As RoundToBf16 with ToNearestEven. A block of values that stay finite, as nearly all do, takes a
// quarter of the time.
ROWHOUSE_KERNEL_BODY void RoundToNearestBf16(const float* values, uint16_t* halves, size_t n) {
  constexpr size_t kBlock = 256;
  for (size_t begin = 0; begin < n; begin += kBlock) {
    const size_t count = n - begin < kBlock ? n - begin : kBlock;
    const float* const from = values + begin;
    uint16_t* const to = halves + begin;
    if (!StayWithinBf16(from, count)) {
      RoundToBf16(ToNearestEven(), from, to, count);
      continue;
    }
    for (size_t i = 0; i < count; ++i) {
      const uint32_t bits = std::bit_cast<uint32_t>(from[i]);
      to[i] = static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
  }
}

ROWHOUSE_KERNEL_BODY void RoundToNearestBf16(float* values, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    values[i] = std::bit_cast<float>(Bf16Of(ToNearestEven(), values[i], i) << 16);
  }
}

// In two passes, because a choice around a product of floats would keep the loop from being
// vectorised.
ROWHOUSE_KERNEL_BODY void WidenF16(const uint16_t* halves, float* values, size_t n) {
  for (size_t i = 0; i < n; ++i) {  // The value of a subnormal half: exact, and normal in f32.
    values[i] = static_cast<float>(static_cast<int32_t>(halves[i] & 0x7fff)) * 0x1p-24f;
  }
  for (size_t i = 0; i < n; ++i) {
    const uint32_t half = halves[i] & 0x7fff;
    const uint32_t subnormal = std::bit_cast<uint32_t>(values[i]);
    const uint32_t bias = half >= 0x7c00 ? 224u << 23 : 112u << 23;  // Infinity and NaN: all ones.
    const uint32_t bits = half < 0x0400 ? subnormal : (half << 13) + bias;
    values[i] = std::bit_cast<float>(bits | static_cast<uint32_t>(halves[i] & 0x8000) << 16);
  }
}

// |value| as the bits of an f16, followed by 32 bits that f16 has no room for. Rounding adds to
// these 32 bits; the carry goes into the mantissa and from there into the exponent. If the f16 is
// normal, the 32 bits begin with the lowest 13 bits of the f32's mantissa. If it is subnormal, the
// mantissa is shifted further down, and more of its bits are among the 32.
ROWHOUSE_KERNEL_BODY uint64_t WideF16(uint32_t magnitude) {
  constexpr uint32_t kMinNormal = 113;  // f32's exponent field of 2^-14
  const uint32_t exponent = magnitude >> 23;
  const uint64_t normal = static_cast<uint64_t>(magnitude - (112u << 23)) << 19;
  const uint64_t mantissa = (magnitude & 0x7fffff) | 0x800000;
  // In units of 2^-24, value = mantissa * 2^(exponent - 150 + 24). Beyond 63 nothing is left.
  const uint32_t shift = exponent < 63 ? 63 : 126 - exponent;
  const uint64_t subnormal = (mantissa << 32) >> (shift & 63);
  return exponent >= kMinNormal ? normal : subnormal;
}

template <typename Rounding>
ROWHOUSE_KERNEL_BODY void RoundToF16(const Rounding& rounding, const float* values,
                                     uint16_t* halves, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(values[i]);
    const uint32_t magnitude = bits & 0x7fffffff;
    const uint64_t wide = WideF16(magnitude);
    auto half = static_cast<uint32_t>((wide + rounding.template Addend<32>(wide, i)) >> 32);
    half = half > 0x7bff ? 0x7bff : half;
    const uint32_t cut = 0x7c00 | (magnitude >> 13 & 0x3ff);
    const uint32_t special = magnitude > kInfinity && cut == 0x7c00 ? 0x7e00 : cut;
    half = magnitude >= kInfinity ? special : half;
    halves[i] = static_cast<uint16_t>(bits >> 16 & 0x8000) | static_cast<uint16_t>(half);
  }
}

}  // namespace rowhouse::kernel_bodies
