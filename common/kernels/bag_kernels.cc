#include "common/kernels/bag_kernels.h"

#include <glog/logging.h>

#include <cstring>

#include "common/kernels/bag_bodies.h"
#include "common/kernels/target_clones.h"

namespace rowhouse {
namespace {

// A table of this many bytes stays in the cache of a core; prefetching would only cost time.
constexpr size_t kCachedBytes = size_t{1} << 20;

#ifdef ROWHOUSE_HAS_TARGETS
__attribute__((target("avx512f"))) void PoolRows(const BagWork& work) { PoolByVectors<64>(work); }
__attribute__((target("avx512f"))) const char* NameOfTarget() { return "AVX-512"; }
__attribute__((target("avx2"))) void PoolRows(const BagWork& work) { PoolByVectors<32>(work); }
__attribute__((target("avx2"))) const char* NameOfTarget() { return "AVX2"; }
__attribute__((target("default")))
#endif
const char*
NameOfTarget() {
  return "basic instructions";
}
#ifdef ROWHOUSE_HAS_TARGETS
__attribute__((target("default")))
#endif
void PoolRows(const BagWork& work) {
  PoolByVectors<16>(work);
}

size_t PrefetchEnd(size_t lookups, size_t bytes_of_rows) {
  return bytes_of_rows <= kCachedBytes || lookups < kRowsAhead ? 0 : lookups - kRowsAhead;
}

void Pool(const BagView& bags, const RowsView& rows, size_t dim, std::span<float> out,
          uint32_t* winners) {
  CHECK_EQ(out.size(), bags.bags() * dim);
  PoolRows({.bags = bags,
            .rows = rows.bytes.data(),
            .bits = rows.bits,
            .row_bytes = BytesOfRow(rows.bits, dim),
            .stride = rows.BytesToNext(dim),
            .dim = dim,
            .out = out.data(),
            .winners = winners,
            .prefetch_end = PrefetchEnd(bags.offsets.back(), rows.bytes.size())});
}

ROWHOUSE_TARGET_CLONES
void AddCsr(const uint32_t* offsets, size_t bags, const uint32_t* slots,
            const float* __restrict gradient, size_t dim, float* __restrict row_gradients) {
  const size_t lookups = offsets[bags];
  for (size_t b = 0; b < bags; ++b) {
    const float* g = gradient + b * dim;
    for (size_t p = offsets[b]; p < offsets[b + 1]; ++p) {
      if (p + kRowsAhead < lookups) {
        const float* later = row_gradients + size_t{slots[p + kRowsAhead]} * dim;
        for (size_t c = 0; c < dim; c += kFloatsPerLine) __builtin_prefetch(later + c, 1);
      }
      float* row = row_gradients + size_t{slots[p]} * dim;
      for (size_t c = 0; c < dim; ++c) row[c] += g[c];
    }
  }
}

// Adding and subtracting this rounds a term to a multiple of 2^-36, ties to even: a double of this
// size has 52 - 16 = 36 bits after the point.
constexpr double kExactMagic = 0x1.8p16;
constexpr float kExactLimit =
    0x1p12f;  // from here on f32 has at most 11 bits after the point: nothing to round

ROWHOUSE_TARGET_CLONES
void AddExactCsr(const uint32_t* offsets, size_t bags, const uint32_t* slots, const float* weights,
                 const std::byte* rows, size_t stride, size_t dim, double* sums) {
  for (size_t b = 0; b < bags; ++b, sums += dim) {
    for (size_t p = offsets[b]; p < offsets[b + 1]; ++p) {
      const auto* row = reinterpret_cast<const float*>(rows + size_t{slots[p]} * stride);
      const float weight = weights == nullptr ? 1.0f : weights[p];
      for (size_t c = 0; c < dim; ++c) {
        const float term = weight * row[c];
        const double wide = term;
        const double rounded = (wide + kExactMagic) - kExactMagic;
        sums[c] += term > -kExactLimit && term < kExactLimit ? rounded : wide;
      }
    }
  }
}

}  // namespace

const char* BagInstructions() { return NameOfTarget(); }

void AddExactSums(const BagView& bags, const RowsView& rows, size_t dim, std::span<double> sums) {
  CHECK_EQ(sums.size(), bags.bags() * dim);
  CHECK_EQ(rows.bits, kFloatBits);
  AddExactCsr(bags.offsets.data(), bags.bags(), bags.slots.data(),
              bags.weights.empty() ? nullptr : bags.weights.data(), rows.bytes.data(),
              rows.BytesToNext(dim), dim, sums.data());
}

void SumBags(const BagView& bags, const RowsView& rows, size_t dim, std::span<float> out) {
  Pool(bags, rows, dim, out, /*winners=*/nullptr);
}

void MaxBags(const BagView& bags, const RowsView& rows, size_t dim, std::span<float> out,
             std::span<uint32_t> winners) {
  CHECK_EQ(winners.size(), out.size());
  CHECK_EQ(rows.bits, kFloatBits);
  Pool(bags, rows, dim, out, winners.data());
}

void AddSumGradients(const BagView& bags, std::span<const float> gradient, size_t dim,
                     std::span<float> row_gradients) {
  CHECK_EQ(gradient.size(), bags.bags() * dim);
  AddCsr(bags.offsets.data(), bags.bags(), bags.slots.data(), gradient.data(), dim,
         row_gradients.data());
}

void GatherRows(std::span<const uint32_t> slots, const RowsView& rows, size_t dim,
                std::span<float> out) {
  CHECK_EQ(out.size(), slots.size() * dim);
  const size_t prefetch_end = PrefetchEnd(slots.size(), rows.bytes.size());
  const size_t bytes = BytesOfRow(rows.bits, dim);
  const size_t stride = rows.BytesToNext(dim);
  const auto row = [&](size_t p) { return rows.bytes.data() + size_t{slots[p]} * stride; };
  for (size_t p = 0; p < slots.size(); ++p) {
    if (p < prefetch_end) PrefetchBytes(row(p + kRowsAhead), bytes);
    const std::span<float> to = out.subspan(p * dim, dim);
    if (rows.bits == kFloatBits) {
      std::memcpy(to.data(), row(p), bytes);
    } else {
      DequantiseRows(rows.bits, {row(p), bytes}, dim, to);
    }
  }
}

}  // namespace rowhouse
