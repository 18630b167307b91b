// Every case of embedding_bag.json (torch's operator, float64): forward, gradient by row, gradient
// of per-sample weights, and rows after renormalisation.
#include "common/kernels/embedding_bag.h"

#include <cmath>
#include <random>
#include <set>

#include "common/kernels/reductions.h"
#include "sharding/rows/row_merge.h"
#include "tests/testing/testing.h"
#include "tests/testing/tiny_dlrm.h"

namespace rowhouse {
namespace {

using nlohmann::json;

void ExpectNearInEmbeddingBag(std::span<const float> got, const std::vector<float>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-6) << "[" << i << "]";
}

constexpr char kTieBetweenRows[] = "max ties between different rows: the earlier position wins";

std::vector<uint32_t> OffsetsOfLength(size_t bags, size_t length) {
  std::vector<uint32_t> offsets;
  for (size_t b = 0; b <= bags; ++b) offsets.push_back(static_cast<uint32_t>(b * length));
  return offsets;
}

// A case as the embedding layer gives it to the operator: padding left out, offsets with their end.
struct Case {
  Case(const json& file, const json& c) {
    // The case of ties between rows has a table of its own, which its forward pass leaves alone.
    const json& weight = c["note"] == kTieBetweenRows ? c["weight_after_forward"] : file["weight"];
    dim = weight[0].size();
    rows = Flatten(weight);
    Lookups(c);
    const std::string mode = c["mode"].get<std::string>();
    options.pooling = mode == "sum"    ? Pooling::kSum
                      : mode == "mean" ? Pooling::kMean
                                       : Pooling::kMax;
    scales_by_lookups = c["args"].value("scale_grad_by_freq", false);
  }
  BagView view() const { return {.offsets = offsets, .slots = slots, .weights = weights}; }

  void Lookups(const json& c) {
    const json& flat = c["indices"];
    std::vector<uint32_t> given;
    if (c["offsets"].is_null()) {
      for (const json& bag : flat) {
        for (const json& id : bag) ids.push_back(id.get<uint64_t>());
      }
      given = OffsetsOfLength(flat.size(), flat[0].size());
    } else {
      ids = flat.get<std::vector<uint64_t>>();
      given = c["offsets"].get<std::vector<uint32_t>>();
      const bool has_end = c["args"].value("include_last_offset", false);
      if (!has_end) given.push_back(static_cast<uint32_t>(ids.size()));
    }
    std::vector<float> all_weights;
    if (!c["per_sample_weights"].is_null()) all_weights = Flatten(c["per_sample_weights"]);
    const bool has_padding = c["args"].contains("padding_idx");
    const uint64_t padding = c["args"].value("padding_idx", uint64_t{0});
    for (size_t b = 0; b + 1 < given.size(); ++b) {
      offsets.push_back(static_cast<uint32_t>(slots.size()));
      for (size_t p = given[b]; p < given[b + 1]; ++p) {
        if (has_padding && ids[p] == padding) continue;
        places.push_back(p);
        slots.push_back(static_cast<uint32_t>(ids[p]));
        if (!all_weights.empty()) weights.push_back(all_weights[p]);
      }
    }
    offsets.push_back(static_cast<uint32_t>(slots.size()));
  }

  // What shards do for tables with scale_grad_by_freq.
  void DivideByLookups(std::vector<float>* by_row) const {
    if (!scales_by_lookups) return;
    std::vector<float> lookups(by_row->size() / dim, 0.0f);
    for (const uint32_t slot : slots) ++lookups[slot];
    for (size_t i = 0; i < by_row->size(); ++i) {
      if (lookups[i / dim] > 0.0f) (*by_row)[i] /= lookups[i / dim];
    }
  }

  size_t dim;
  std::vector<float> rows, weights;
  std::vector<uint64_t> ids;   // padding included
  std::vector<size_t> places;  // of each lookup among `ids`
  std::vector<uint32_t> offsets, slots;
  BagOptions options;
  bool scales_by_lookups = false;
};

// torch 1.13's dense backward on the CPU divides the gradient of the i-th distinct row by the
// frequency of the i-th sorted lookup's row. In the table's batch (sorted 0 1 1 2 2 3 5 6) that
// halves rows 3 and 5, which occur once. We follow the definition: by the row's own frequency.
void MendAccessCounts(std::vector<float>* gradients, size_t dim) {
  for (const size_t row : {3u, 5u}) {
    for (size_t c = 0; c < dim; ++c) (*gradients)[row * dim + c] *= 2.0f;
  }
}

class EmbeddingBagCase : public testing::TestWithParam<size_t> {};

TEST_P(EmbeddingBagCase, ForwardAndBackwardEqualTorch) {
  const json file = LoadVectors("embedding_bag.json");
  const json& want = file.at("cases").at(GetParam());
  SCOPED_TRACE(want["note"].get<std::string>() + ", " + want["mode"].get<std::string>());
  Case c(file, want);
  if (want["args"].contains("max_norm")) {
    for (const uint32_t slot : std::set<uint32_t>(c.slots.begin(), c.slots.end())) {
      RenormaliseRow(want["args"]["max_norm"].get<double>(), want["args"].value("norm_type", 2.0),
                     std::span(c.rows).subspan(slot * c.dim, c.dim));
    }
  }
  std::vector<float> out(c.view().bags() * c.dim, -1.0f);
  std::vector<uint32_t> winners;
  PoolBags(c.view(), c.options, c.rows, c.dim, out, &winners);
  ExpectNearInEmbeddingBag(out, Flatten(want["output"]));
  if (want.contains("weight_after_forward")) {
    ExpectNearInEmbeddingBag(c.rows, Flatten(want["weight_after_forward"]));
  }

  const std::vector<float> gradient = Flatten(want["grad_out"]);
  if (want.contains("grad_dense")) {
    std::vector<float> by_row(c.rows.size(), 0.0f);
    AddBagGradients(c.view(), c.options, gradient, c.dim, &winners, by_row);
    c.DivideByLookups(&by_row);
    std::vector<float> want_by_row = Flatten(want["grad_dense"]);
    if (c.scales_by_lookups) MendAccessCounts(&want_by_row, c.dim);
    ExpectNearInEmbeddingBag(by_row, want_by_row);
  }
  if (want.contains("grad_sparse_rows")) {
    // Coalesced from the start: one gradient a distinct row, in row order.
    EXPECT_EQ(c.ids.size(), want["uncoalesced_nnz"].get<size_t>());
    std::vector<RowId> rows;
    std::vector<uint32_t> counts, slots;
    RowMerge().Merge(std::vector<uint64_t>(c.slots.begin(), c.slots.end()), &rows, &counts, &slots);
    std::vector<uint64_t> numbers;
    for (const RowId row : rows) numbers.push_back(Raw(row));
    EXPECT_EQ(numbers, want["grad_sparse_rows"].get<std::vector<uint64_t>>());
    std::vector<float> by_row(rows.size() * c.dim, 0.0f);
    const BagView merged = {.offsets = c.offsets, .slots = slots, .weights = c.weights};
    AddBagGradients(merged, c.options, gradient, c.dim, nullptr, by_row);
    ExpectNearInEmbeddingBag(by_row, Flatten(want["grad_sparse_values"]));
  }
  if (want.contains("grad_per_sample_weights")) {
    std::vector<float> by_id(c.ids.size(), 0.0f);
    const std::vector<float> gradients = BagWeightGradients(c.view(), c.rows, gradient, c.dim);
    for (size_t p = 0; p < gradients.size(); ++p) by_id[c.places[p]] = gradients[p];
    ExpectNearInEmbeddingBag(by_id, Flatten(want["grad_per_sample_weights"]));
  }
}

INSTANTIATE_TEST_SUITE_P(EmbeddingBagJson, EmbeddingBagCase, testing::Range<size_t>(0, 18));

TEST(EmbeddingBagFile, HasTheEighteenCasesAbove) {
  EXPECT_EQ(LoadVectors("embedding_bag.json").at("cases").size(), 18u);
}

TEST(EmbeddingBag, SumsOfCsrBagsEqualTheVectors) {
  const json file = LoadVectors("embedding_bag.json");
  const json& want = file["csr_unit_kernel"];
  const auto offsets = want["row_offsets"].get<std::vector<uint32_t>>();
  const auto slots = want["col_indices"].get<std::vector<uint32_t>>();
  std::vector<float> out(Flatten(want["output"]).size());
  SumBags({.offsets = offsets, .slots = slots}, Flatten(file["weight"]), 3, out);
  ExpectNearInEmbeddingBag(out, Flatten(want["output"]));
}

TEST(EmbeddingBag, SumsAndRowsOfFixedLengthBagsEqualTheVectors) {
  const json file = LoadVectors("embedding_bag.json");
  const json& want = file["fixed_nnz_unit_kernel"];
  std::vector<uint32_t> slots;
  for (const json& bag : want["col_indices"]) {
    for (const json& id : bag) slots.push_back(id.get<uint32_t>());
  }
  std::vector<float> sums(9), side_by_side(18);
  const std::vector<uint32_t> offsets = OffsetsOfLength(3, want["nnz"].get<size_t>());
  SumBags({.offsets = offsets, .slots = slots}, Flatten(file["weight"]), 3, sums);
  ExpectNearInEmbeddingBag(sums, Flatten(want["sum_output"]));
  GatherRows(slots, Flatten(file["weight"]), 3, side_by_side);
  ExpectNearInEmbeddingBag(side_by_side, Flatten(want["concat_output"]));
}

// Widths around the kernels' blocks of 64 and 16 columns.
TEST(EmbeddingBag, SumsHaveTheBitsOfAPlainLoop) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  for (const size_t dim : {1u, 3u, 15u, 16u, 17u, 64u, 83u, 128u}) {
    constexpr size_t kRows = 40, kBags = 30, kLength = 7;
    std::vector<float> rows(kRows * dim);
    for (float& value : rows) value = uniform(random);
    std::vector<uint32_t> slots(kBags * kLength);
    for (uint32_t& slot : slots) slot = static_cast<uint32_t>(random() % kRows);

    std::vector<float> plain(kBags * dim, 0.0f), csr(plain);
    for (size_t p = 0; p < slots.size(); ++p) {
      for (size_t c = 0; c < dim; ++c) plain[p / kLength * dim + c] += rows[slots[p] * dim + c];
    }
    const std::vector<uint32_t> offsets = OffsetsOfLength(kBags, kLength);
    SumBags({.offsets = offsets, .slots = slots}, rows, dim, csr);
    EXPECT_EQ(csr, plain) << "dim " << dim;

    // Backward, by the unit kernel and by the general operator.
    std::vector<float> unit(rows.size(), 0.0f), general(unit);
    AddSumGradients({.offsets = offsets, .slots = slots}, plain, dim, unit);
    AddBagGradients({.offsets = offsets, .slots = slots}, {}, plain, dim, nullptr, general);
    EXPECT_EQ(unit, general) << "dim " << dim;
  }
}

TEST(EmbeddingBag, AnEmptyBatchIsFine) {
  const std::vector<uint32_t> offsets = {0};
  SumBags({.offsets = offsets, .slots = {}}, {}, 4, {});
  AddSumGradients({.offsets = offsets, .slots = {}}, {}, 4, {});
}

}  // namespace
}  // namespace rowhouse
