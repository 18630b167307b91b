// Quantised rows: the `dim` floats of a row in 8, 4 or 2 bits a number, with a scale and a bias of
// the row, or in 16 bits. Byte for byte what torch's quantized::embedding_bag_byte_prepack (8),
// _4bit_prepack and _2bit_prepack write, and Tensor.half() (16):
//
//   16    dim f16, rounded to nearest
//   8     dim bytes q, then scale and bias as f32
//   4, 2  ceil(dim * bits / 8) bytes of q, the first number in the lowest bits, then scale and bias
//         as f16
//
// A number is q * scale + bias, rounded to f32 after each operation. The bias is the row's least
// number and the scale its range / (2^bits - 1), so that a number is wrong by half a scale at most;
// of 4 and 2 bits f16 rounds both, and the least number by its rounding. A row of equal numbers is
// exact in 8 bits.
//
// Rows lie one after the other, at any address. Exactness: every instruction set gives the same
// bits. Threads: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/status.h"

namespace rowhouse {

// A number's bits in a row: of floats, or one of kQuantisedBits.
inline constexpr uint32_t kFloatBits = 32;
inline constexpr uint32_t kQuantisedBits[] = {16, 8, 4, 2};

// Bytes of a row with this many bits a number; of floats, too.
constexpr size_t BytesOfRow(uint32_t bits, size_t dim) {
  const size_t numbers = (dim * bits + 7) / 8;
  return numbers + (bits >= 16 ? 0 : bits == 8 ? 2 * sizeof(float) : 2 * sizeof(uint16_t));
}

// out = `rows`, the first of which is row `first` of its table, quantised. kUsage, naming the row,
// for one that has a NaN or infinity, and for one whose numbers are beyond what the format can
// hold: with 16, 4 and 2 bits beyond +-65504. Requires bits of kQuantisedBits.
Status QuantiseRows(uint32_t bits, uint64_t first, std::span<const float> rows, size_t dim,
                    std::span<std::byte> out);

// out = the numbers of whole rows; with kFloatBits a copy.
void DequantiseRows(uint32_t bits, std::span<const std::byte> rows, size_t dim,
                    std::span<float> out);

}  // namespace rowhouse
