#include "common/kernels/embedding_bag.h"

#include <glog/logging.h>

#include <algorithm>
#include <numeric>

namespace rowhouse {
namespace {

size_t LookupsOf(const BagView& bags, size_t bag) {
  return bags.offsets[bag + 1] - bags.offsets[bag];
}

void AddScaled(const float* row, float scale, size_t dim, float* out) {
  for (size_t c = 0; c < dim; ++c) out[c] += scale * row[c];
}

void DivideByLookups(const BagView& bags, size_t dim, std::span<float> out) {
  for (size_t b = 0; b < bags.bags(); ++b) {
    const size_t lookups = LookupsOf(bags, b);
    if (lookups == 0) continue;
    for (size_t c = 0; c < dim; ++c) out[b * dim + c] /= static_cast<float>(lookups);
  }
}

void AddMaxGradients(const BagView& bags, const std::vector<uint32_t>& winners,
                     const float* gradient, size_t dim, float* row_gradients) {
  CHECK_EQ(winners.size(), bags.bags() * dim);
  for (size_t i = 0; i < winners.size(); ++i) {
    if (winners[i] == kNoWinner) continue;
    row_gradients[size_t{bags.slots[winners[i]]} * dim + i % dim] += gradient[i];
  }
}

// By way of a copy of the bags' rows as floats.
void PoolUnpacked(const BagView& bags, const BagOptions& options, const RowsView& rows, size_t dim,
                  std::span<float> out, std::vector<uint32_t>* winners) {
  const size_t begin = bags.offsets.front(), count = bags.offsets.back() - begin;
  std::vector<float> floats(count * dim);
  GatherRows(bags.slots.subspan(begin, count), rows, dim, floats);
  std::vector<uint32_t> places(begin + count);
  std::iota(places.begin() + static_cast<std::ptrdiff_t>(begin), places.end(), 0u);
  PoolBags({.offsets = bags.offsets, .slots = places, .weights = bags.weights}, options, floats,
           dim, out, winners);
}

}  // namespace

void PoolBags(const BagView& bags, const BagOptions& options, const RowsView& rows, size_t dim,
              std::span<float> out, std::vector<uint32_t>* winners) {
  CHECK_EQ(out.size(), bags.bags() * dim);
  if (rows.bits != kFloatBits && (options.exact || options.pooling == Pooling::kMax)) {
    return PoolUnpacked(bags, options, rows, dim, out, winners);
  }
  if (options.exact && options.pooling != Pooling::kMax) {
    std::vector<double> sums(out.size());
    AddExactSums(bags, rows, dim, sums);
    std::transform(sums.begin(), sums.end(), out.begin(),
                   [](double sum) { return static_cast<float>(sum); });
    if (options.pooling == Pooling::kMean) DivideByLookups(bags, dim, out);
    return;
  }
  if (options.pooling == Pooling::kMax) {
    winners->resize(out.size());
    return MaxBags(bags, rows, dim, out, *winners);
  }
  SumBags(bags, rows, dim, out);
  if (options.pooling == Pooling::kMean) DivideByLookups(bags, dim, out);
}

void AddBagGradients(const BagView& bags, const BagOptions& options,
                     std::span<const float> gradient, size_t dim,
                     const std::vector<uint32_t>* winners, std::span<float> row_gradients) {
  CHECK_EQ(gradient.size(), bags.bags() * dim);
  if (options.pooling == Pooling::kMax) {
    return AddMaxGradients(bags, *winners, gradient.data(), dim, row_gradients.data());
  }
  if (options.pooling == Pooling::kSum && bags.weights.empty()) {
    return AddSumGradients(bags, gradient, dim, row_gradients);
  }
  for (size_t b = 0; b < bags.bags(); ++b) {
    const auto lookups = static_cast<float>(LookupsOf(bags, b));
    for (size_t p = bags.offsets[b]; p < bags.offsets[b + 1]; ++p) {
      float scale = bags.weights.empty() ? 1.0f : bags.weights[p];
      if (options.pooling == Pooling::kMean) scale /= lookups;
      AddScaled(&gradient[b * dim], scale, dim, &row_gradients[size_t{bags.slots[p]} * dim]);
    }
  }
}

std::vector<float> BagWeightGradients(const BagView& bags, std::span<const float> rows,
                                      std::span<const float> gradient, size_t dim) {
  std::vector<float> gradients(bags.slots.size(), 0.0f);
  for (size_t b = 0; b < bags.bags(); ++b) {
    for (size_t p = bags.offsets[b]; p < bags.offsets[b + 1]; ++p) {
      const float* row = &rows[size_t{bags.slots[p]} * dim];
      for (size_t c = 0; c < dim; ++c) gradients[p] += row[c] * gradient[b * dim + c];
    }
  }
  return gradients;
}

}  // namespace rowhouse
