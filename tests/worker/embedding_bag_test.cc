// Every case of embedding_bag.json (torch's operator, float64): forward, gradient by row, gradient
// of per-sample weights, and rows after renormalisation.
#include "common/kernels/embedding_bag.h"

#include <cmath>
#include <random>

#include "tests/testing/testing.h"
#include "tests/testing/tiny_dlrm.h"
#include "worker/embedding/row_merge.h"

namespace rowhouse {
namespace {

using nlohmann::json;
using testing::HasSubstr;

void ExpectNear(std::span<const float> got, const std::vector<float>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-6) << "[" << i << "]";
}

constexpr char kTieBetweenRows[] = "max ties between different rows: the earlier position wins";

struct Case {
  Case(const json& file, const json& c) {
    // The case of ties between rows has a table of its own, which its forward pass leaves alone.
    const json& weight = c["note"] == kTieBetweenRows ? c["weight_after_forward"] : file["weight"];
    dim = weight[0].size();
    rows = Flatten(weight);
    const json& flat = c["indices"];
    if (c["offsets"].is_null()) {
      for (const json& bag : flat) {
        for (const json& id : bag) ids.push_back(id.get<uint64_t>());
      }
      offsets = OffsetsOfLength(flat.size(), flat[0].size());
    } else {
      ids = flat.get<std::vector<uint64_t>>();
      const auto given = c["offsets"].get<std::vector<uint64_t>>();
      offsets =
          (c["args"].value("include_last_offset", false) ? OffsetsFromCsr(given, ids.size())
                                                         : OffsetsFromStarts(given, ids.size()))
              .value();
    }
    slots = SlotsOfIds(ids, weight.size()).value();
    if (!c["per_sample_weights"].is_null()) weights = Flatten(c["per_sample_weights"]);
    const std::string mode = c["mode"].get<std::string>();
    options.pooling = mode == "sum"    ? Pooling::kSum
                      : mode == "mean" ? Pooling::kMean
                                       : Pooling::kMax;
    if (c["args"].contains("padding_idx")) {
      options.padding_slot = c["args"]["padding_idx"].get<uint32_t>();
    }
    options.scale_grad_by_freq = c["args"].value("scale_grad_by_freq", false);
  }
  BagView view() const { return {.offsets = offsets, .slots = slots, .weights = weights}; }

  size_t dim;
  std::vector<float> rows, weights;
  std::vector<uint64_t> ids;
  std::vector<uint32_t> offsets, slots;
  BagOptions options;
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
  ASSERT_OK(ValidateBags(c.view(), c.options));
  if (want["args"].contains("max_norm")) {
    RenormaliseRows(c.slots, want["args"]["max_norm"].get<double>(),
                    want["args"].value("norm_type", 2.0), c.dim, c.rows);
  }
  std::vector<float> out(c.view().bags() * c.dim, -1.0f);
  std::vector<uint32_t> winners;
  PoolBags(c.view(), c.options, c.rows, c.dim, out, &winners);
  ExpectNear(out, Flatten(want["output"]));
  if (want.contains("weight_after_forward")) {
    ExpectNear(c.rows, Flatten(want["weight_after_forward"]));
  }

  const std::vector<float> gradient = Flatten(want["grad_out"]);
  if (want.contains("grad_dense")) {
    std::vector<float> by_row(c.rows.size(), 0.0f);
    AddBagGradients(c.view(), c.options, gradient, c.dim, &winners, by_row);
    std::vector<float> want_by_row = Flatten(want["grad_dense"]);
    if (c.options.scale_grad_by_freq) MendAccessCounts(&want_by_row, c.dim);
    ExpectNear(by_row, want_by_row);
  }
  if (want.contains("grad_sparse_rows")) {
    // Coalesced from the start: one gradient a distinct row, in row order.
    EXPECT_EQ(c.ids.size(), want["uncoalesced_nnz"].get<size_t>());
    std::vector<RowId> rows;
    std::vector<uint32_t> counts, slots;
    RowMerge().Merge(c.ids, &rows, &counts, &slots);
    std::vector<uint64_t> numbers;
    for (const RowId row : rows) numbers.push_back(Raw(row));
    EXPECT_EQ(numbers, want["grad_sparse_rows"].get<std::vector<uint64_t>>());
    std::vector<float> by_row(rows.size() * c.dim, 0.0f);
    const BagView merged = {.offsets = c.offsets, .slots = slots, .weights = c.weights};
    AddBagGradients(merged, c.options, gradient, c.dim, nullptr, by_row);
    ExpectNear(by_row, Flatten(want["grad_sparse_values"]));
  }
  if (want.contains("grad_per_sample_weights")) {
    ExpectNear(BagWeightGradients(c.view(), c.options, c.rows, gradient, c.dim),
               Flatten(want["grad_per_sample_weights"]));
  }
}

INSTANTIATE_TEST_SUITE_P(EmbeddingBagJson, EmbeddingBagCase, testing::Range<size_t>(0, 18));

TEST(EmbeddingBagFile, HasTheEighteenCasesAbove) {
  EXPECT_EQ(LoadVectors("embedding_bag.json").at("cases").size(), 18u);
}

TEST(EmbeddingBag, CsrUnitKernel) {
  const json file = LoadVectors("embedding_bag.json");
  const json& want = file["csr_unit_kernel"];
  const auto offsets = want["row_offsets"].get<std::vector<uint32_t>>();
  const auto slots = want["col_indices"].get<std::vector<uint32_t>>();
  std::vector<float> out(Flatten(want["output"]).size());
  SumBags({.offsets = offsets, .slots = slots}, Flatten(file["weight"]), 3, out);
  ExpectNear(out, Flatten(want["output"]));
}

TEST(EmbeddingBag, FixedLengthUnitKernel) {
  const json file = LoadVectors("embedding_bag.json");
  const json& want = file["fixed_nnz_unit_kernel"];
  std::vector<uint32_t> slots;
  for (const json& bag : want["col_indices"]) {
    for (const json& id : bag) slots.push_back(id.get<uint32_t>());
  }
  std::vector<float> sums(9), side_by_side(18);
  SumFixedBags(want["nnz"].get<size_t>(), slots, Flatten(file["weight"]), 3, sums);
  ExpectNear(sums, Flatten(want["sum_output"]));
  GatherRows(slots, Flatten(file["weight"]), 3, side_by_side);
  ExpectNear(side_by_side, Flatten(want["concat_output"]));
}

// Widths around the kernels' blocks of 64 and 16 columns.
TEST(EmbeddingBag, FixedLengthBagsGiveTheBitsOfCsrAndOfAPlainLoop) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  for (const size_t dim : {1u, 3u, 15u, 16u, 17u, 64u, 83u, 128u}) {
    constexpr size_t kRows = 40, kBags = 30, kLength = 7;
    std::vector<float> rows(kRows * dim);
    for (float& value : rows) value = uniform(random);
    std::vector<uint32_t> slots(kBags * kLength);
    for (uint32_t& slot : slots) slot = static_cast<uint32_t>(random() % kRows);

    std::vector<float> plain(kBags * dim, 0.0f), fixed(plain), csr(plain);
    for (size_t p = 0; p < slots.size(); ++p) {
      for (size_t c = 0; c < dim; ++c) plain[p / kLength * dim + c] += rows[slots[p] * dim + c];
    }
    SumFixedBags(kLength, slots, rows, dim, fixed);
    const std::vector<uint32_t> offsets = OffsetsOfLength(kBags, kLength);
    SumBags({.offsets = offsets, .slots = slots}, rows, dim, csr);
    EXPECT_EQ(fixed, plain) << "dim " << dim;
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

TEST(EmbeddingBag, WrongInputIsNamed) {
  const auto message = [](const auto& result) { return result.status().message(); };
  EXPECT_THAT(message(SlotsOfIds(std::vector<uint64_t>{1, 7}, 7)), HasSubstr("lookup 1: id 7"));
  EXPECT_THAT(message(OffsetsFromStarts(std::vector<uint64_t>{1, 2}, 4)),
              HasSubstr("offsets[0]=1"));
  EXPECT_THAT(message(OffsetsFromStarts(std::vector<uint64_t>{0, 3, 2}, 4)),
              HasSubstr("offsets[2]=2 is less than offsets[1]=3"));
  EXPECT_THAT(message(OffsetsFromStarts(std::vector<uint64_t>{0, 5}, 4)),
              HasSubstr("beyond the 4"));
  EXPECT_THAT(message(OffsetsFromStarts({}, 4)), HasSubstr("no offsets"));
  EXPECT_THAT(message(OffsetsFromCsr(std::vector<uint64_t>{0, 3}, 4)),
              HasSubstr("must be the number"));
  EXPECT_THAT(message(OffsetsFromCsr({}, 0)), HasSubstr("cannot be empty"));

  const std::vector<uint32_t> offsets = {0, 2}, slots = {0, 1};
  const std::vector<float> weights = {1.0f, 2.0f};
  const BagView weighted = {.offsets = offsets, .slots = slots, .weights = weights};
  EXPECT_THAT(ValidateBags(weighted, {.pooling = Pooling::kMean}).message(), HasSubstr("by sum"));
  EXPECT_THAT(ValidateBags({offsets, slots}, {.pooling = Pooling::kMax, .scale_grad_by_freq = true})
                  .message(),
              HasSubstr("scale_grad_by_freq"));
  EXPECT_THAT(ValidateBags({offsets, slots, std::span(weights).first(1)}, {}).message(),
              HasSubstr("1 per-sample weights for 2 lookups"));
}

}  // namespace
}  // namespace rowhouse
