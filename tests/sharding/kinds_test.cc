// What kinds make of a table: bytes of all of them, rows and widths of block and hashed ones, and
// what they refuse. The numbers are those of composite_embeddings.json.
#include <cmath>
#include <utility>
#include <vector>

#include "tests/testing/kind_tables.h"

namespace rowhouse {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// ---- Sizes --------------------------------------------------------------------------------------

// What `tensor_parallel_saving` counts (a block table cut by rows *and* columns, each device with
// a projection of its own) is a layout no table of ours has: P is one, on every worker.
TEST(Kinds, TakeTheBytesOfTheNotebook) {
  const json file = LoadVectors("composite_embeddings.json");
  ASSERT_EQ(file["block"]["memory"].size(), 5u);
  for (const json& want : file["block"]["memory"]) {
    const auto rows = want["V"].get<uint64_t>();
    const auto dim = want["E"].get<uint32_t>();
    const uint64_t full = Bytes(Resolved("plain", {}, rows, dim));
    EXPECT_EQ(full, want["full_bytes"].get<uint64_t>());
    const std::string block_dim = std::to_string(want["Eb"].get<uint32_t>());
    const uint64_t block = Bytes(Resolved("block", {{"block_dim", block_dim}}, rows, dim));
    EXPECT_EQ(block, want["block_bytes"].get<uint64_t>()) << want;
    const EmbeddingTables qr = Resolved("qr", {{"collisions", "sqrt"}}, rows, dim);
    EXPECT_EQ(qr.physical[1].rows, want["qr_sqrt_bucket"].get<uint64_t>());
    EXPECT_EQ(Bytes(qr), want["qr_bytes"].get<uint64_t>());
    EXPECT_EQ(full >> 20, want["full_MiB_floor"].get<uint64_t>());
    EXPECT_EQ(block >> 20, want["block_MiB_floor"].get<uint64_t>());
    EXPECT_EQ(Bytes(qr) >> 20, want["qr_MiB_floor"].get<uint64_t>());
    EXPECT_EQ(static_cast<int64_t>(full - Bytes(qr)) / 4, want["qr_saved_params"].get<int64_t>());
    // The notebook counts a projection also where rows have full width, and one is not needed.
    const int64_t needless = want["Eb"] == want["E"] ? int64_t{dim} * dim : 0;
    EXPECT_EQ(static_cast<int64_t>(full - block) / 4 - needless,
              want["block_saved_params"].get<int64_t>());
  }
}

TEST(Kinds, AHashedTableIsItsWorkingSet) {
  const auto vectors = LoadVectors("micro_dlrm_dram.json");
  for (const json& want : vectors["sizes"]) {
    const auto buckets = want["virtual_table_size"].get<uint64_t>();
    const auto dim = want["m_spa"].get<uint32_t>();
    std::vector<LogicalTable> tables;
    for (int k = 0; k < 3; ++k) {
      tables.push_back(TableOfKind(
          "hashed", {{"buckets", std::to_string(buckets)}, {"share", "all"}}, 1682, dim));
      tables.back().name += std::to_string(k);
    }
    const EmbeddingTables resolved = EmbeddingTables::Make(tables).value();
    EXPECT_EQ(resolved.physical.size(), 1u);
    EXPECT_EQ(Bytes(resolved), want["working_set_bytes"].get<uint64_t>());
    uint64_t bytes_a_sample = 0;
    for (const FeatureTable& feature : resolved.features) {
      bytes_a_sample += feature.parts.size() * feature.kind->layout().width * sizeof(float);
    }
    EXPECT_EQ(8192 * bytes_a_sample, want["lookup_bytes_per_step_B8192"].get<uint64_t>());
  }
}

TEST(Kinds, XavierFollowsTheShapeOfEachMatrix) {
  const auto vectors = LoadVectors("composite_embeddings.json");
  for (const json& want : vectors["block"]["xavier"]) {
    const double size = want["rows"].get<double>() + want["cols"].get<double>();
    EXPECT_NEAR(std::sqrt(2.0 / size), want["std_normal"].get<double>(), 1e-12);
    EXPECT_NEAR(std::sqrt(6.0 / size), want["bound_uniform"].get<double>(), 1e-12);
  }
}

// ---- block --------------------------------------------------------------------------------------

TEST(Block, HasARowOf64AndAProjectionUnlessTheTableIsNarrow) {
  const EmbeddingTables wide = Resolved("block", {}, 100, 128);
  EXPECT_EQ(wide.physical[0].dim, 64u);
  EXPECT_TRUE(wide.features[0].kind->layout().projects);
  EXPECT_EQ(wide.features[0].out_width(), 128u);
  const EmbeddingTables narrow = Resolved("block", {}, 100, 16);
  EXPECT_EQ(narrow.physical[0].dim, 16u);
  EXPECT_FALSE(narrow.features[0].kind->layout().projects);
}

TEST(Block, RefusesRowsWiderThanTheTable) {
  EXPECT_THAT(Refusal("block", {{"block_dim", "9"}}),
              HasSubstr("table \"table0\": block_dim=9: expected a whole number from 1 to 8"));
  EXPECT_THAT(Refusal("block", {{"block_dim", "0"}}), HasSubstr("block_dim=0"));
}

// ---- hashed -------------------------------------------------------------------------------------

TEST(Hashed, IsTheHashOfTheIdModuloTheBuckets) {
  const json file = LoadVectors("hash_virtual_table.json");
  for (const json& want : file["vectors"]) {
    const auto id = static_cast<uint64_t>(want["id"].get<int64_t>());
    if (id >= uint64_t{1} << 63) continue;  // negative: no table has so many ids
    const std::string seed = std::to_string(want["seed"].get<uint64_t>());
    for (size_t m = 0; m < file["mods"].size(); ++m) {
      const EmbeddingTables tables =
          Resolved("hashed", {{"buckets", file["mods"][m].dump()}, {"hash_seed", seed}},
                   uint64_t{1} << 63, 4);
      EXPECT_EQ(tables.physical[0].rows, file["mods"][m].get<uint64_t>());
      EXPECT_EQ(RowsOfPart(tables.features[0], 0, {id})[0], want["rows"][m].get<uint64_t>());
    }
  }
}

TEST(Hashed, MoreHashesAreIndependent) {
  const EmbeddingTables tables =
      Resolved("hashed", {{"buckets", "1000"}, {"hashes", "3"}, {"operation", "concat"}}, 5000, 4);
  EXPECT_EQ(tables.features[0].out_width(), 12u);
  EXPECT_EQ(tables.physical.size(), 1u) << "all of them look into one table";
  std::vector<uint64_t> ids(5000);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = i;
  const FeatureTable& feature = tables.features[0];
  for (const auto& [a, b] : {std::pair(0, 1), std::pair(0, 2), std::pair(1, 2)}) {
    const std::vector<uint64_t> first = RowsOfPart(feature, a, ids);
    const std::vector<uint64_t> second = RowsOfPart(feature, b, ids);
    size_t equal = 0;
    for (size_t i = 0; i < ids.size(); ++i) equal += first[i] == second[i] ? 1 : 0;
    EXPECT_LE(equal, 20u) << "5 are expected by chance";
  }
}

TEST(Hashed, TheSeedMayBeHexadecimal) {
  const EmbeddingTables by_default = Resolved("hashed", {{"buckets", "1000"}}, 100, 4);
  const EmbeddingTables hex =
      Resolved("hashed", {{"buckets", "1000"}, {"hash_seed", "0xA5A5a5a5"}}, 100, 4);
  const std::vector<uint64_t> ids = {0, 1, 2, 99};
  EXPECT_EQ(RowsOfPart(hex.features[0], 0, ids), RowsOfPart(by_default.features[0], 0, ids));
  EXPECT_THAT(Refusal("hashed", {{"buckets", "9"}, {"hash_seed", "0x"}}), HasSubstr("hash_seed"));
}

TEST(Hashed, RefusesToGuessBuckets) {
  EXPECT_THAT(Refusal("hashed", {}), HasSubstr("table \"table0\": a hashed table needs buckets"));
  EXPECT_THAT(Refusal("hashed", {{"buckets", "0"}}), HasSubstr("buckets=0"));
  EXPECT_THAT(Refusal("hashed", {{"buckets", "5"}, {"hashes", "9"}}), HasSubstr("from 1 to 8"));
  EXPECT_THAT(Refusal("hashed", {{"buckets", "5"}, {"operation", "max"}}),
              HasSubstr("operation=max: expected one of add, mult, concat"));
}

// ---- Learned weights
// ------------------------------------------------------------------------------

TEST(LearnedWeights, AreATableOfWidthOneThatStartsAtOne) {
  for (const std::string& kind : TableKinds().Names()) {
    LogicalTable table = TableOfKind(kind, MinimalOptions(kind), 100, 8);
    table.weighted_pooling = "learned";
    table.optimizer = "adagrad";
    table.max_norm = 1.0;
    const EmbeddingTables tables = EmbeddingTables::Make({table}).value();
    ASSERT_TRUE(tables.features[0].weights) << kind;
    const TableSpec& weights = tables.physical[Raw(*tables.features[0].weights)];
    EXPECT_EQ(weights.name, "table0.weights");
    EXPECT_EQ(weights.rows, 100u) << "one an id, also where ids share rows";
    EXPECT_EQ(weights.dim, 1u);
    EXPECT_EQ(weights.optimizer, "adagrad");
    EXPECT_EQ(weights.initialiser, "constant");
    EXPECT_EQ(weights.initialiser_options.value, 1.0);
    EXPECT_EQ(weights.max_norm, 0.0) << "a norm of rows, not of weights";
  }
}

}  // namespace
}  // namespace rowhouse
