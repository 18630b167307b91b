// Micro-DLRM-DRAM whole (micro_dlrm_dram.json, float64): three features hashed into one
// table, the bottom MLP's output and their rows one after the other, a top MLP, bce.
#include "tests/testing/embedding_over_arrays.h"
#include "tests/testing/kind_options.h"
#include "tests/testing/testing.h"
#include "tests/testing/tiny_dlrm.h"

namespace rowhouse {
namespace {

using nlohmann::json;

void ExpectNearInMicroDlrm(std::span<const float> got, const std::vector<float>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-6) << "[" << i << "]";
}

std::vector<LogicalTable> Features(const json& seeds, uint64_t buckets, uint32_t dim) {
  std::vector<LogicalTable> tables;
  for (const json& seed : seeds) {
    tables.push_back(TableOfKind(
        "hashed",
        {{"buckets", std::to_string(buckets)}, {"hash_seed", seed.dump()}, {"share", "virtual"}},
        uint64_t{1} << 40, dim));
    tables.back().name = "feature" + std::to_string(tables.size());
  }
  return tables;
}

TEST(MicroDlrm, ForwardLossAndEveryGradient) {
  const json file = LoadVectors("micro_dlrm_dram.json");
  const auto dim = file["m_spa"].get<uint32_t>();
  EmbeddingOverArrays rows(Features(file["seeds"], file["virtual_rows"].get<uint64_t>(), dim));
  ASSERT_EQ(rows.tables.size(), 1u);
  rows.tables[0] = Flatten(file["table"]);

  ModelSpec spec;
  spec.bottom_mlp = file["ln_bot"].get<std::vector<uint32_t>>();
  spec.top_mlp = file["ln_top"].get<std::vector<uint32_t>>();
  spec.feature_widths.assign(3, dim);
  spec.interaction = "cat";
  spec.loss = "bce";
  ASSERT_OK(spec.Validate());
  DenseParameters dense;
  DlrmModel model(spec, &dense);
  dense.Allocate();
  const std::vector<float> parameters = FlatMlps(file);
  ASSERT_EQ(parameters.size(), dense.size());
  std::ranges::copy(parameters, dense.values().begin());

  const size_t samples = file["labels"].size();
  std::vector<Bags> bags;
  for (size_t k = 0; k < file["ids_per_feature"].size(); ++k) {
    const auto ids = file["ids_per_feature"][k].get<std::vector<uint64_t>>();
    std::vector<uint64_t> hashed(ids.size());
    rows.embedding.tables().features[k].kind->Resolve(0, ids, hashed);
    EXPECT_EQ(json(hashed), file["hashed_rows"][k]);
    bags.push_back(BagsOf({0, 1, 2, 3}, ids));
  }
  const std::vector<std::vector<float>> pooled = rows.Forward(bags);
  // Of the interaction: after the bottom MLP's 2 columns, the three rows.
  for (size_t s = 0; s < samples; ++s) {
    const std::vector<float> interaction = Flatten(file["interaction"][s]);
    for (size_t k = 0; k < 3; ++k) {
      for (size_t c = 0; c < dim; ++c) {
        EXPECT_EQ(pooled[k][s * dim + c], interaction[2 + k * dim + c]);
      }
    }
  }
  const std::vector<float> x = Flatten(file["dense"]);
  const std::span<const float> p = model.Forward(x, samples, pooled);
  ExpectNearInMicroDlrm(p, Flatten(file["p"]));
  const std::vector<float> labels = Flatten(file["labels"]);
  EXPECT_NEAR(model.LossSum(labels) / static_cast<double>(samples), file["bce"].get<double>(),
              1e-6);

  std::vector<std::vector<float>> gradients;
  model.Backward(labels, samples, &gradients);
  for (size_t k = 0; k < 3; ++k) rows.embedding.Backward(k, {0, samples}, gradients[k]);
  const RowBatch& batch = rows.embedding.row_batches()[0];
  json touched = json::array();
  for (const RowId row : batch.rows) touched.push_back(Raw(row));
  EXPECT_EQ(touched, file["grad_table_rows"]);
  ExpectNearInMicroDlrm(batch.gradients, Flatten(file["grad_table"]));
  ExpectNearInMicroDlrm(dense.gradients(),
                        FlatMlps({{"bot", file["grad_bot"]}, {"top", file["grad_top"]}}));
  // Row 2 is id 5 of the first feature and id 1 of the third.
  EXPECT_EQ(batch.rows[1], RowId{2});
  EXPECT_EQ(batch.counts[1], 2u);
}

uint64_t Parameters(const std::vector<LogicalTable>& tables, uint32_t dim) {
  ModelSpec spec;
  spec.bottom_mlp = {16, 8, 8};
  spec.top_mlp = {32, 16, 1};
  spec.feature_widths.assign(3, dim);
  spec.interaction = "cat";
  DenseParameters dense;
  const DlrmModel model(spec, &dense);
  uint64_t floats = dense.size();
  for (const TableSpec& table : EmbeddingTables::Make(tables).value().physical) {
    floats += table.rows * table.dim;
  }
  return floats;
}

TEST(MicroDlrm, HasItsParameters) {
  const json file = LoadVectors("micro_dlrm_dram.json");
  ASSERT_EQ(file["sizes"].size(), 5u);
  for (const json& want : file["sizes"]) {
    const auto dim = want["m_spa"].get<uint32_t>();
    EXPECT_EQ(
        Parameters(Features(file["seeds"], want["virtual_table_size"].get<uint64_t>(), dim), dim),
        want["params"].get<uint64_t>());
  }
  // Its cache-resident sibling: tables of users, items and 21 rows more, 8 wide.
  std::vector<LogicalTable> plain;
  for (const uint64_t rows : {943, 1682, 21}) {
    plain.push_back(TableOfKind("plain", {}, rows, 8));
    plain.back().name += std::to_string(plain.size());
  }
  EXPECT_EQ(Parameters(plain, 8), file["cache_variant_params"].get<uint64_t>());
}

}  // namespace
}  // namespace rowhouse
