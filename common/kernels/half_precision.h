// Floats of 16 bits: bf16 (8 exponent bits, as f32, and 7 mantissa bits) and IEEE's f16 (5 and 10),
// as bit patterns. All arithmetic is on whole numbers, so every instruction set and every rounding
// mode of the FPU gives the same bits, subnormals included.
//
// Widening is exact. Rounding is to nearest (ties to even) or stochastic. Either way a value that
// the format can represent is unchanged, the sign of zero included; infinity stays infinity and NaN
// stays NaN; a finite value beyond the largest finite one becomes that one, so that no stored
// weight turns infinite.
//
// Stochastic rounding takes one of the two neighbours of |value|, the larger with a probability
// equal to the value's place between them, in steps of 2^-16 (bf16) and 2^-32 (f16). So the mean
// over draws is the value, and updates far smaller than half a step are not lost. Value i is
// rounded by the upper 32 bits of MixBits(key, first + i) (common/random.h). These bits are part of
// every result and never change.
//
// The spans of a call have equal sizes and do not overlap. Threads: any.
#pragma once

#include <cstdint>
#include <span>

namespace rowhouse {

struct RoundingDraws {
  uint64_t key = 0;
  uint64_t first = 0;  // number of the draw that rounds values[0]
};

void WidenBf16(std::span<const uint16_t> halves, std::span<float> values);
void WidenF16(std::span<const uint16_t> halves, std::span<float> values);

// sums += halves, in f32
void AddBf16(std::span<const uint16_t> halves, std::span<float> sums);

void RoundToNearestBf16(std::span<const float> values, std::span<uint16_t> halves);
void RoundToNearestBf16(std::span<float> values);  // in place
void RoundToNearestF16(std::span<const float> values, std::span<uint16_t> halves);

void RoundToBf16(const RoundingDraws& draws, std::span<const float> values,
                 std::span<uint16_t> halves);
void RoundToF16(const RoundingDraws& draws, std::span<const float> values,
                std::span<uint16_t> halves);

}  // namespace rowhouse
