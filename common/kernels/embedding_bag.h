// The EmbeddingBag operator (SPEC 1; torch.nn.EmbeddingBag) as pure functions over rows at hand:
// an array of `dim` floats a row, addressed by slot.
//
// Forward, per bag, padding members left out first:
//   sum   sum of weight * row (weight 1 when none are given), f32, left to right, from 0; with
//         `exact`, each term rounded to a multiple of 2^-36, all added in f64 and rounded once: the
//         same bits in whatever groups a bag is summed, while sums stay below 2^16
//   mean  that sum without weights, divided by the members counted
//   max   per column the greatest value; the earliest position in the bag wins a tie
//   an empty bag, or one of padding only, gives zeros
// Backward adds each lookup's share of the output's gradient to its row's, in lookup order:
//   sum   weight * g;  mean  g / members;  max  g, to the winner of each column
//   padding rows get nothing; scale_grad_by_freq divides by the row's lookups in the whole batch
//
// Exactness: loops run over columns, so every instruction set gives the same bits; fixed-length
//            bags give the bits of the same bags with offsets.
// Threads:   none kept; any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/status.h"

namespace rowhouse {

enum class Pooling { kSum, kMean, kMax };

struct BagOptions {
  Pooling pooling = Pooling::kSum;
  std::optional<uint32_t> padding_slot = std::nullopt;  // a row that means "nothing here"
  bool scale_grad_by_freq = false;                      // not with max
  bool exact = false;                                   // sum and mean; see above
};

// A batch of bags in CSR form: bag b is slots[offsets[b] .. offsets[b + 1]).
struct BagView {
  std::span<const uint32_t> offsets;  // bags + 1 values, first 0, last slots.size()
  std::span<const uint32_t> slots;
  std::span<const float> weights = {};  // one a lookup, or none; sum only

  size_t bags() const { return offsets.size() - 1; }
};

// ---- From what a user gives, checked (kUsage), to a BagView -----------------------------------

// `starts` names where each bag begins; the last ends with the lookups.
Result<std::vector<uint32_t>> OffsetsFromStarts(std::span<const uint64_t> starts, size_t lookups);
// include_last_offset: one more value, the end of the last bag.
Result<std::vector<uint32_t>> OffsetsFromCsr(std::span<const uint64_t> offsets, size_t lookups);
// 2-D input: `bags` rows of `length` lookups.
std::vector<uint32_t> OffsetsOfLength(size_t bags, size_t length);
// Ids of a table of `rows` rows that lie at hand in order: slot = id. An id >= rows is an error.
Result<std::vector<uint32_t>> SlotsOfIds(std::span<const uint64_t> ids, uint64_t rows);
// Weights and scale_grad_by_freq only where they are defined, sizes that fit.
Status ValidateBags(const BagView& bags, const BagOptions& options);

// ---- The operator. Requires ValidateBags() to be OK; rows: slots x dim; out: bags x dim --------

inline constexpr uint32_t kNoWinner = UINT32_MAX;

// Overwrites out. For max, `winners` (bags x dim) gets the position in bags.slots each column came
// from, kNoWinner for an empty bag; other poolings leave it alone and allow null.
void PoolBags(const BagView& bags, const BagOptions& options, std::span<const float> rows,
              size_t dim, std::span<float> out, std::vector<uint32_t>* winners);

// Adds exact terms of bags to `sums` (bags x dim). No padding.
void AddExactSums(const BagView& bags, std::span<const float> rows, size_t dim,
                  std::span<double> sums);

// Adds to row_gradients (as rows) what bags contribute. `winners` is PoolBags's, for max only.
void AddBagGradients(const BagView& bags, const BagOptions& options,
                     std::span<const float> gradient, size_t dim,
                     const std::vector<uint32_t>* winners, std::span<float> row_gradients);

// Gradient of each lookup's weight: <row, gradient of its bag>. Zero for padding.
std::vector<float> BagWeightGradients(const BagView& bags, const BagOptions& options,
                                      std::span<const float> rows, std::span<const float> gradient,
                                      size_t dim);

// ---- The two unit kernels everything above and the embedding layer run on ----------------------

// Plain sums, CSR.
void SumBags(const BagView& bags, std::span<const float> rows, size_t dim, std::span<float> out);
// Plain sums of slots.size() / length bags of `length` lookups each.
void SumFixedBags(size_t length, std::span<const uint32_t> slots, std::span<const float> rows,
                  size_t dim, std::span<float> out);
// Their backward: row_gradients[slot] += gradient[bag], lookup by lookup.
void AddSumGradients(const BagView& bags, std::span<const float> gradient, size_t dim,
                     std::span<float> row_gradients);
// The rows of all lookups, one after the other: fixed-length bags concatenated, not pooled.
void GatherRows(std::span<const uint32_t> slots, std::span<const float> rows, size_t dim,
                std::span<float> out);

// max_norm: RenormaliseRow (common/kernels/row_norm.h) of every row named in `slots`, in place,
// once a row however often it is named. It changes parameters.
void RenormaliseRows(std::span<const uint32_t> slots, double max_norm, double norm_type, size_t dim,
                     std::span<float> rows);

}  // namespace rowhouse
