// Floats of 16 bits: bf16 (8 exponent bits, as f32, and 7 mantissa bits) and IEEE's f16 (5 and 10),
// as bit patterns. Whole-number arithmetic on bits throughout, so every instruction set gives the
// same ones, subnormals included, whatever the rounding mode of the FPU.
//
// Widening is exact. Rounding, to nearest (ties to even) or stochastically: a value that the format
// has stays as it is, sign of zero included; infinities stay, NaN stays NaN; a finite value beyond
// the largest finite one becomes that one, so that no weight turns infinite by being kept.
//
// Stochastic: of the two neighbours of |value|, the larger with the probability of where the value
// lies between them, in steps of 2^-16 (bf16) and 2^-32 (f16). So the mean over draws is the value,
// and updates far smaller than half a step are not lost. Draws are counted, not taken in order:
// value i is rounded by the upper 32 bits of MixBits(key, first + i) (common/random.h). These bits
// are part of every result: they never change.
//
// Requires spans of one call to have one size and not to overlap. Threads: any.
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

void RoundToNearestBf16(std::span<const float> values, std::span<uint16_t> halves);
void RoundToNearestF16(std::span<const float> values, std::span<uint16_t> halves);

void RoundToBf16(const RoundingDraws& draws, std::span<const float> values,
                 std::span<uint16_t> halves);
void RoundToF16(const RoundingDraws& draws, std::span<const float> values,
                std::span<uint16_t> halves);

}  // namespace rowhouse
