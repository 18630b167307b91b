#include "common/kernels/embedding_bag.h"

#include <algorithm>
#include <limits>

#include "common/kernels/row_norm.h"

namespace rowhouse {
namespace {

constexpr size_t kMaxLookups = std::numeric_limits<uint32_t>::max() - 1;

Result<std::vector<uint32_t>> CheckedOffsets(std::span<const uint64_t> starts, size_t lookups) {
  if (lookups > kMaxLookups) {
    return UsageError("a batch of {} lookups; at most {} fit", lookups, kMaxLookups);
  }
  std::vector<uint32_t> offsets;
  offsets.reserve(starts.size() + 1);
  for (size_t b = 0; b < starts.size(); ++b) {
    if (b == 0 && starts[0] != 0) {
      return UsageError("offsets[0]={}: the first bag must begin at lookup 0", starts[0]);
    }
    if (b > 0 && starts[b] < starts[b - 1]) {
      return UsageError("offsets[{}]={} is less than offsets[{}]={}: offsets must not descend", b,
                        starts[b], b - 1, starts[b - 1]);
    }
    if (starts[b] > lookups) {
      return UsageError("offsets[{}]={} lies beyond the {} lookups", b, starts[b], lookups);
    }
    offsets.push_back(static_cast<uint32_t>(starts[b]));
  }
  return offsets;
}

bool IsPadding(const BagOptions& options, uint32_t slot) { return options.padding_slot == slot; }

size_t Members(const BagView& bags, const BagOptions& options, size_t bag) {
  size_t members = 0;
  for (size_t p = bags.offsets[bag]; p < bags.offsets[bag + 1]; ++p) {
    members += !IsPadding(options, bags.slots[p]);
  }
  return members;
}

void AddScaled(const float* row, float scale, size_t dim, float* out) {
  for (size_t c = 0; c < dim; ++c) out[c] += scale * row[c];
}

void DivideByMembers(const BagView& bags, const BagOptions& options, size_t dim,
                     std::span<float> out) {
  for (size_t b = 0; b < bags.bags(); ++b) {
    const size_t members = Members(bags, options, b);
    if (members == 0) continue;
    for (size_t c = 0; c < dim; ++c) out[b * dim + c] /= static_cast<float>(members);
  }
}

void PoolMax(const BagView& bags, const BagOptions& options, const float* rows, size_t dim,
             float* out, std::vector<uint32_t>* winners) {
  winners->assign(bags.bags() * dim, kNoWinner);
  for (size_t b = 0; b < bags.bags(); ++b) {
    float* greatest = out + b * dim;
    uint32_t* winner = winners->data() + b * dim;
    for (uint32_t p = bags.offsets[b]; p < bags.offsets[b + 1]; ++p) {
      if (IsPadding(options, bags.slots[p])) continue;
      const float* row = rows + size_t{bags.slots[p]} * dim;
      for (size_t c = 0; c < dim; ++c) {
        if (winner[c] != kNoWinner && !(row[c] > greatest[c])) continue;
        greatest[c] = row[c];
        winner[c] = p;
      }
    }
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

}  // namespace

Result<std::vector<uint32_t>> OffsetsFromStarts(std::span<const uint64_t> starts, size_t lookups) {
  if (starts.empty() && lookups > 0) {
    return UsageError("{} lookups but no offsets: no bag holds them", lookups);
  }
  ASSIGN_OR_RETURN(std::vector<uint32_t> offsets, CheckedOffsets(starts, lookups));
  offsets.push_back(static_cast<uint32_t>(lookups));
  return offsets;
}

Result<std::vector<uint32_t>> OffsetsFromCsr(std::span<const uint64_t> offsets, size_t lookups) {
  if (offsets.empty()) return UsageError("offsets with their last value included cannot be empty");
  ASSIGN_OR_RETURN(std::vector<uint32_t> checked, CheckedOffsets(offsets, lookups));
  if (offsets.back() != lookups) {
    return UsageError("the last offset, {}, must be the number of lookups, {}", offsets.back(),
                      lookups);
  }
  return checked;
}

std::vector<uint32_t> OffsetsOfLength(size_t bags, size_t length) {
  CHECK_LE(bags * length, kMaxLookups);
  std::vector<uint32_t> offsets(bags + 1);
  for (size_t b = 0; b <= bags; ++b) offsets[b] = static_cast<uint32_t>(b * length);
  return offsets;
}

Result<std::vector<uint32_t>> SlotsOfIds(std::span<const uint64_t> ids, uint64_t rows) {
  CHECK_LE(rows, uint64_t{1} << 32);
  std::vector<uint32_t> slots(ids.size());
  for (size_t p = 0; p < ids.size(); ++p) {
    if (ids[p] >= rows) {
      return UsageError("lookup {}: id {} is outside the table's {} rows", p, ids[p], rows);
    }
    slots[p] = static_cast<uint32_t>(ids[p]);
  }
  return slots;
}

Status ValidateBags(const BagView& bags, const BagOptions& options) {
  CHECK(!bags.offsets.empty() && bags.offsets.back() == bags.slots.size());
  if (!bags.weights.empty() && options.pooling != Pooling::kSum) {
    return UsageError("per-sample weights need pooling by sum");
  }
  if (!bags.weights.empty() && bags.weights.size() != bags.slots.size()) {
    return UsageError("{} per-sample weights for {} lookups", bags.weights.size(),
                      bags.slots.size());
  }
  if (options.scale_grad_by_freq && options.pooling == Pooling::kMax) {
    return UsageError("scale_grad_by_freq is not defined for pooling by max");
  }
  return OkStatus();
}

void PoolBags(const BagView& bags, const BagOptions& options, std::span<const float> rows,
              size_t dim, std::span<float> out, std::vector<uint32_t>* winners) {
  CHECK_EQ(out.size(), bags.bags() * dim);
  if (options.exact && options.pooling != Pooling::kMax) {
    CHECK(!options.padding_slot);
    std::vector<double> sums(out.size());
    AddExactSums(bags, rows, dim, sums);
    std::transform(sums.begin(), sums.end(), out.begin(),
                   [](double sum) { return static_cast<float>(sum); });
    if (options.pooling == Pooling::kMean) DivideByMembers(bags, options, dim, out);
    return;
  }
  if (options.pooling == Pooling::kSum && bags.weights.empty() && !options.padding_slot) {
    return SumBags(bags, rows, dim, out);
  }
  std::fill(out.begin(), out.end(), 0.0f);
  if (options.pooling == Pooling::kMax) {
    return PoolMax(bags, options, rows.data(), dim, out.data(), winners);
  }
  for (size_t b = 0; b < bags.bags(); ++b) {
    float* pooled = &out[b * dim];
    for (size_t p = bags.offsets[b]; p < bags.offsets[b + 1]; ++p) {
      if (IsPadding(options, bags.slots[p])) continue;
      const float weight = bags.weights.empty() ? 1.0f : bags.weights[p];
      AddScaled(&rows[size_t{bags.slots[p]} * dim], weight, dim, pooled);
    }
  }
  if (options.pooling == Pooling::kMean) DivideByMembers(bags, options, dim, out);
}

void AddBagGradients(const BagView& bags, const BagOptions& options,
                     std::span<const float> gradient, size_t dim,
                     const std::vector<uint32_t>* winners, std::span<float> row_gradients) {
  CHECK_EQ(gradient.size(), bags.bags() * dim);
  if (options.pooling == Pooling::kMax) {
    return AddMaxGradients(bags, *winners, gradient.data(), dim, row_gradients.data());
  }
  if (options.pooling == Pooling::kSum && bags.weights.empty() && !options.padding_slot &&
      !options.scale_grad_by_freq) {
    return AddSumGradients(bags, gradient, dim, row_gradients);
  }
  std::vector<uint32_t> lookups_of_slot;
  if (options.scale_grad_by_freq) {
    lookups_of_slot.assign(row_gradients.size() / dim, 0);
    for (const uint32_t slot : bags.slots) ++lookups_of_slot[slot];
  }
  for (size_t b = 0; b < bags.bags(); ++b) {
    const auto members = static_cast<float>(Members(bags, options, b));
    for (size_t p = bags.offsets[b]; p < bags.offsets[b + 1]; ++p) {
      const uint32_t slot = bags.slots[p];
      if (IsPadding(options, slot)) continue;
      float scale = bags.weights.empty() ? 1.0f : bags.weights[p];
      if (options.pooling == Pooling::kMean) scale /= members;
      if (options.scale_grad_by_freq) scale /= static_cast<float>(lookups_of_slot[slot]);
      AddScaled(&gradient[b * dim], scale, dim, &row_gradients[size_t{slot} * dim]);
    }
  }
}

std::vector<float> BagWeightGradients(const BagView& bags, const BagOptions& options,
                                      std::span<const float> rows, std::span<const float> gradient,
                                      size_t dim) {
  CHECK(options.pooling == Pooling::kSum);
  std::vector<float> gradients(bags.slots.size(), 0.0f);
  for (size_t b = 0; b < bags.bags(); ++b) {
    for (size_t p = bags.offsets[b]; p < bags.offsets[b + 1]; ++p) {
      if (IsPadding(options, bags.slots[p])) continue;
      const float* row = &rows[size_t{bags.slots[p]} * dim];
      for (size_t c = 0; c < dim; ++c) gradients[p] += row[c] * gradient[b * dim + c];
    }
  }
  return gradients;
}

void RenormaliseRows(std::span<const uint32_t> slots, double max_norm, double norm_type, size_t dim,
                     std::span<float> rows) {
  std::vector<uint32_t> distinct(slots.begin(), slots.end());
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  for (const uint32_t slot : distinct) {
    RenormaliseRow(max_norm, norm_type, rows.subspan(size_t{slot} * dim, dim));
  }
}

}  // namespace rowhouse
