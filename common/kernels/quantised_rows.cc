#include "common/kernels/quantised_rows.h"

#include <glog/logging.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "common/kernels/finite.h"
#include "common/kernels/half_precision.h"

namespace rowhouse {
namespace {

static_assert(std::endian::native == std::endian::little, "rows are taken as they lie");

constexpr float kMaxF16 = 65504.0f;
// Numbers of a row at a time; a multiple of those in a byte.
constexpr size_t kBlock = 256;

float ThroughF16(float value, uint16_t* half) {
  RoundToNearestF16({&value, 1}, {half, 1});
  WidenF16({half, 1}, {&value, 1});
  return value;
}

// Compiled for the base instruction set alone: GCC 12's AVX-512 code copies arguments that are
// floats by moves of 512 bits and does not clear their upper halves, and then libm is ten times
// slower.

// q[i] = (row[i] - least) * inverse, rounded half to even and kept within [0, most].
void RoundRow(const float* row, size_t dim, float least, float inverse, float most, uint8_t* q) {
  constexpr float kMagic = 0x1.8p23f;  // Added and subtracted, it rounds |x| < 2^22 half to even.
  for (size_t c = 0; c < dim; ++c) {
    float rounded = ((row[c] - least) * inverse + kMagic) - kMagic;
    rounded = rounded > 0.0f ? rounded : 0.0f;
    q[c] = static_cast<uint8_t>(static_cast<int32_t>(rounded < most ? rounded : most));
  }
}

void ScaleBytes(const uint8_t* q, size_t dim, float scale, float bias, float* out) {
  for (size_t c = 0; c < dim; ++c) out[c] = static_cast<float>(q[c]) * scale + bias;
}

void QuantiseTo8Bits(std::span<const float> row, float least, float range, std::byte* out) {
  const float scale_and_bias[] = {range / 255.0f, least};
  constexpr float kEpsilon = 1e-8f;  // torch's; rows of a smaller range do not use all of q.
  RoundRow(row.data(), row.size(), least, 255.0f / (range + kEpsilon), 255.0f,
           reinterpret_cast<uint8_t*>(out));
  std::memcpy(out + row.size(), scale_and_bias, sizeof(scale_and_bias));
}

// `least`: as f16 rounded it. A row of almost equal numbers may lie below it, whole: then the scale
// is negative.
void QuantiseToFewBits(uint32_t bits, std::span<const float> row, float scale,
                       uint16_t half_of_least, float least, std::byte* out) {
  const auto most = static_cast<float>((1u << bits) - 1);
  uint16_t halves[2] = {0, half_of_least};
  scale = ThroughF16(scale, &halves[0]);
  if (scale == 0.0f) scale = ThroughF16(1.0f, &halves[0]);
  const size_t bytes = (row.size() * bits + 7) / 8;
  std::fill_n(out, bytes, std::byte{0});
  uint8_t q[kBlock];
  for (size_t begin = 0; begin < row.size(); begin += kBlock) {
    const size_t count = std::min(kBlock, row.size() - begin);
    RoundRow(&row[begin], count, least, 1.0f / scale, most, q);
    for (size_t i = 0; i < count; ++i) {
      const size_t bit = (begin + i) * bits;
      out[bit / 8] |= std::byte{q[i]} << bit % 8;
    }
  }
  std::memcpy(out + bytes, halves, sizeof(halves));
}

Status BeyondF16(uint64_t row, float value) {
  return UsageError(
      "row {} has the number {}, and f16, which its format keeps it in, ends at 65504; 8 bits have "
      "room for it",
      row, value);
}

Status QuantiseRow(uint32_t bits, uint64_t number, std::span<const float> row, std::byte* out) {
  if (!AreFinite(row)) {
    return UsageError("row {} has the number {}, which cannot be quantised", number,
                      ForPeople(row[*FirstNotFinite(row)]));
  }
  float least = row[0], greatest = row[0];
  for (const float value : row) {
    least = value < least ? value : least;
    greatest = value > greatest ? value : greatest;
  }
  if (bits == 8) {
    const float range = greatest - least;
    if (!IsFinite(range)) {
      return UsageError("row {} reaches from {} to {}, which is too far apart for a float", number,
                        least, greatest);
    }
    QuantiseTo8Bits(row, least, range, out);
    return OkStatus();
  }
  if (std::fabs(least) > kMaxF16) return BeyondF16(number, least);
  if (bits == 16) {
    if (greatest > kMaxF16) return BeyondF16(number, greatest);
    uint16_t halves[kBlock];
    for (size_t begin = 0; begin < row.size(); begin += kBlock) {
      const size_t count = std::min(kBlock, row.size() - begin);
      RoundToNearestF16(row.subspan(begin, count), {halves, count});
      std::memcpy(out + begin * sizeof(uint16_t), halves, count * sizeof(uint16_t));
    }
    return OkStatus();
  }
  uint16_t half = 0;
  const float bias = ThroughF16(least, &half);
  const float range = greatest - bias;
  const float scale = range == 0.0f ? 1.0f : range / static_cast<float>((1u << bits) - 1);
  if (scale > kMaxF16) return BeyondF16(number, greatest);
  QuantiseToFewBits(bits, row, scale, half, bias, out);
  return OkStatus();
}

void DequantiseRow(uint32_t bits, const std::byte* row, std::span<float> out) {
  const size_t dim = out.size();
  uint16_t halves[kBlock];
  if (bits == 16) {
    for (size_t begin = 0; begin < dim; begin += kBlock) {
      const size_t count = std::min(kBlock, dim - begin);
      std::memcpy(halves, row + begin * sizeof(uint16_t), count * sizeof(uint16_t));
      WidenF16({halves, count}, out.subspan(begin, count));
    }
    return;
  }
  float scale_and_bias[2];
  if (bits == 8) {
    std::memcpy(scale_and_bias, row + dim, sizeof(scale_and_bias));
    return ScaleBytes(reinterpret_cast<const uint8_t*>(row), dim, scale_and_bias[0],
                      scale_and_bias[1], out.data());
  }
  std::memcpy(halves, row + (dim * bits + 7) / 8, 2 * sizeof(uint16_t));
  WidenF16({halves, 2}, scale_and_bias);
  const auto mask = (1u << bits) - 1;
  for (size_t c = 0; c < dim; ++c) {
    const uint32_t q = std::to_integer<uint32_t>(row[c * bits / 8]) >> (c * bits % 8) & mask;
    out[c] = static_cast<float>(q) * scale_and_bias[0] + scale_and_bias[1];
  }
}

}  // namespace

Status QuantiseRows(uint32_t bits, uint64_t first, std::span<const float> rows, size_t dim,
                    std::span<std::byte> out) {
  CHECK_EQ(std::ranges::count(kQuantisedBits, bits), 1) << bits;
  const size_t count = rows.size() / dim, bytes = BytesOfRow(bits, dim);
  CHECK(rows.size() == count * dim && out.size() == count * bytes);
  for (size_t r = 0; r < count; ++r) {
    RETURN_IF_ERROR(QuantiseRow(bits, first + r, rows.subspan(r * dim, dim), &out[r * bytes]));
  }
  return OkStatus();
}

void DequantiseRows(uint32_t bits, std::span<const std::byte> rows, size_t dim,
                    std::span<float> out) {
  const size_t count = out.size() / dim, bytes = BytesOfRow(bits, dim);
  CHECK(out.size() == count * dim && rows.size() == count * bytes);
  if (bits == kFloatBits) {
    if (!rows.empty()) std::memcpy(out.data(), rows.data(), rows.size());
    return;
  }
  for (size_t r = 0; r < count; ++r) {
    DequantiseRow(bits, &rows[r * bytes], out.subspan(r * dim, dim));
  }
}

}  // namespace rowhouse
