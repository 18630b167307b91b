#include "common/kernels/bag_kernels.h"

#include <glog/logging.h>

#include <algorithm>

#include "common/kernels/target_clones.h"

namespace rowhouse {
namespace {

// Rows lie far apart in memory: prefetching this many lookups ahead hides most of the wait.
constexpr size_t kLookAhead = 8;
constexpr size_t kFloatsPerLine = 16;

template <size_t kColumns>
ROWHOUSE_KERNEL_BODY void Prefetch(const float* row) {
  for (size_t c = 0; c < kColumns; c += kFloatsPerLine) __builtin_prefetch(row + c);
}

// kColumns sums in registers over lookups [begin, end).
template <size_t kColumns>
ROWHOUSE_KERNEL_BODY void SumColumns(const uint32_t* slots, size_t begin, size_t end,
                                     size_t lookups, const float* rows, size_t dim, float* out) {
  float sums[kColumns] = {};
  for (size_t p = begin; p < end; ++p) {
    if (p + kLookAhead < lookups) Prefetch<kColumns>(rows + size_t{slots[p + kLookAhead]} * dim);
    const float* row = rows + size_t{slots[p]} * dim;
    for (size_t c = 0; c < kColumns; ++c) sums[c] += row[c];
  }
  for (size_t c = 0; c < kColumns; ++c) out[c] = sums[c];
}

ROWHOUSE_TARGET_CLONES
void SumCsr(const uint32_t* offsets, size_t bags, const uint32_t* slots, const float* rows,
            size_t dim, float* out) {
  const size_t lookups = offsets[bags];
  for (size_t b = 0; b < bags; ++b, out += dim) {
    const size_t first = offsets[b], last = offsets[b + 1];
    size_t c = 0;
    for (; c + 64 <= dim; c += 64) {
      SumColumns<64>(slots, first, last, lookups, rows + c, dim, out + c);
    }
    for (; c + 16 <= dim; c += 16) {
      SumColumns<16>(slots, first, last, lookups, rows + c, dim, out + c);
    }
    for (; c < dim; ++c) SumColumns<1>(slots, first, last, lookups, rows + c, dim, out + c);
  }
}

ROWHOUSE_TARGET_CLONES
void AddCsr(const uint32_t* offsets, size_t bags, const uint32_t* slots,
            const float* __restrict gradient, size_t dim, float* __restrict row_gradients) {
  const size_t lookups = offsets[bags];
  for (size_t b = 0; b < bags; ++b) {
    const float* g = gradient + b * dim;
    for (size_t p = offsets[b]; p < offsets[b + 1]; ++p) {
      if (p + kLookAhead < lookups) {
        const float* later = row_gradients + size_t{slots[p + kLookAhead]} * dim;
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
                 const float* rows, size_t dim, double* sums) {
  for (size_t b = 0; b < bags; ++b, sums += dim) {
    for (size_t p = offsets[b]; p < offsets[b + 1]; ++p) {
      const float* row = rows + size_t{slots[p]} * dim;
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

void AddExactSums(const BagView& bags, std::span<const float> rows, size_t dim,
                  std::span<double> sums) {
  CHECK_EQ(sums.size(), bags.bags() * dim);
  AddExactCsr(bags.offsets.data(), bags.bags(), bags.slots.data(),
              bags.weights.empty() ? nullptr : bags.weights.data(), rows.data(), dim, sums.data());
}

void SumBags(const BagView& bags, std::span<const float> rows, size_t dim, std::span<float> out) {
  CHECK_EQ(out.size(), bags.bags() * dim);
  SumCsr(bags.offsets.data(), bags.bags(), bags.slots.data(), rows.data(), dim, out.data());
}

void AddSumGradients(const BagView& bags, std::span<const float> gradient, size_t dim,
                     std::span<float> row_gradients) {
  CHECK_EQ(gradient.size(), bags.bags() * dim);
  AddCsr(bags.offsets.data(), bags.bags(), bags.slots.data(), gradient.data(), dim,
         row_gradients.data());
}

void GatherRows(std::span<const uint32_t> slots, std::span<const float> rows, size_t dim,
                std::span<float> out) {
  CHECK_EQ(out.size(), slots.size() * dim);
  for (size_t p = 0; p < slots.size(); ++p) {
    std::copy_n(rows.data() + size_t{slots[p]} * dim, dim, out.data() + p * dim);
  }
}

}  // namespace rowhouse
