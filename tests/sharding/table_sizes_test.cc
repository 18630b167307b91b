// Bytes by arithmetic: against the numbers the seeds publish (vectors table_sizes.json), and worked
// out by hand.
#include "sharding/tables/table_sizes.h"

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

LogicalTable TableSizesTable(const std::string& kind, uint64_t rows, uint32_t dim,
                             KindOptions options = {}) {
  LogicalTable table;
  table.name = "t";
  table.kind = kind;
  table.rows = rows;
  table.dim = dim;
  table.kind_options = std::move(options);
  return table;
}

ModelSizes SizesOfTable(const std::vector<LogicalTable>& tables) {
  return SizesOf(EmbeddingTables::Make(tables).value());
}

std::string Text(const nlohmann::json& number) { return number.dump(); }

class TableSizes : public testing::Test {
 protected:
  const nlohmann::json vectors_ = LoadVectors("table_sizes.json");
};

// ---- The seeds' numbers -------------------------------------------------------------------------

TEST_F(TableSizes, BlockAndQrTakeWhatTheNotebookPrints) {
  ASSERT_EQ(vectors_["block_memory"].size(), 5u);
  for (const auto& c : vectors_["block_memory"]) {
    SCOPED_TRACE(c.dump());
    const uint64_t rows = c["V"];
    const uint32_t dim = c["E"], block_dim = c["Eb"];
    const ModelSizes plain = SizesOfTable({TableSizesTable("plain", rows, dim)});
    const ModelSizes block =
        SizesOfTable({TableSizesTable("block", rows, dim, {{"block_dim", Text(c["Eb"])}})});
    const ModelSizes qr =
        SizesOfTable({TableSizesTable("qr", rows, dim, {{"collisions", "sqrt"}})});
    EXPECT_EQ(plain.rows_and_projections(), c["full_bytes"]);
    EXPECT_EQ(block.rows_and_projections(), c["block_bytes"]);
    EXPECT_EQ(block.plain_rows, c["full_bytes"]);
    EXPECT_EQ(qr.rows_and_projections(), c["qr_bytes"]);
    EXPECT_EQ(qr.tables[0].physical_rows, 2 * c["qr_sqrt_bucket"].get<uint64_t>());
    EXPECT_EQ(block.rows_and_projections() >> 20, c["block_MiB_floor"]);
    const auto saved = [&](const ModelSizes& sizes) {
      return (sizes.plain_rows - sizes.rows_and_projections()) / sizeof(float);
    };
    EXPECT_EQ(saved(qr), c["qr_saved_params"]);
    // The notebook's formula has a projection even where rows have full width.
    EXPECT_EQ(saved(block), block_dim == dim ? 0 : c["block_saved_params"].get<uint64_t>());
  }
}

TEST_F(TableSizes, QrHasTheRowsAndTheRatioOfDlrms) {
  ASSERT_EQ(vectors_["qr_rows"].size(), 8u);
  for (const auto& c : vectors_["qr_rows"]) {
    SCOPED_TRACE(c.dump());
    const ModelSizes sizes =
        SizesOfTable({TableSizesTable("qr", c["n"], 16, {{"collisions", Text(c["collisions"])}})});
    EXPECT_EQ(sizes.physical[0].rows, c["q_rows"].get<uint64_t>() * 64);
    EXPECT_EQ(sizes.physical[1].rows, c["r_rows"].get<uint64_t>() * 64);
    EXPECT_EQ(sizes.of_plain(), c["params_ratio_to_full"]);
    EXPECT_EQ(sizes.tables[0].of_plain(), c["params_ratio_to_full"]);
  }
}

TEST_F(TableSizes, ASharedHashedTableCountsOnce) {
  const auto& micro = vectors_["micro_dlrm_dram"];
  ASSERT_EQ(micro["sizes"].size(), 5u);
  for (const auto& c : micro["sizes"]) {
    SCOPED_TRACE(c.dump());
    std::vector<LogicalTable> tables;
    for (const auto& seed : micro["seeds"]) {
      tables.push_back(TableSizesTable("hashed", 1586126, c["m_spa"],
                                       {{"buckets", Text(c["virtual_table_size"])},
                                        {"hash_seed", Text(seed)},
                                        {"share", "virtual"}}));
      tables.back().name = "t" + Text(seed);
    }
    const ModelSizes sizes = SizesOfTable(tables);
    ASSERT_EQ(sizes.physical.size(), 1u);
    EXPECT_EQ(sizes.rows_and_projections(), c["working_set_bytes"]);
    for (const LogicalTableSizes& table : sizes.tables) {
      EXPECT_EQ(table.bytes.rows, c["working_set_bytes"]) << "each uses all of it";
    }
    EXPECT_EQ(sizes.lookup * 8192, c["lookup_bytes_per_step_B8192"]);
    EXPECT_EQ(sizes.plain_rows, 3 * 1586126 * c["m_spa"].get<uint64_t>() * 4);
  }
}

TEST_F(TableSizes, CachesTakeSetsTimesLinesTimesDimTimesElement) {
  ASSERT_EQ(vectors_["cache_size_formula"].size(), 5u);
  for (const auto& c : vectors_["cache_size_formula"]) {
    EXPECT_EQ(CacheBytes(c["cache_sets"], c["cache_lines"], c["embedding_dim"], c["element_size"]),
              c["bytes"]);
  }
  EXPECT_EQ(CacheBytes(500000, 1, 256), 512000000u);
}

TEST_F(TableSizes, QuantisedRowsHaveScaleAndBias) {
  ASSERT_EQ(vectors_["quantised_bytes_per_row"].size(), 7u);
  for (const auto& c : vectors_["quantised_bytes_per_row"]) {
    EXPECT_EQ(QuantisedRowBytes(8, c["dim"]), c["int8"]);
    EXPECT_EQ(QuantisedRowBytes(4, c["dim"]), c["int4"]);
    EXPECT_EQ(QuantisedRowBytes(2, c["dim"]), c["int2"]);
  }
  EXPECT_EQ(QuantisedRowBytes(4, 5), 7u) << "ceil(5 / 2) + 4";
}

TEST_F(TableSizes, CutsByColumnsAndRowsGiveEachRankItsRange) {
  for (const auto& c : vectors_["column_split"]) {
    for (uint32_t rank = 0; rank < c["world"]; ++rank) {
      const uint64_t columns =
          c["ranges"][rank][1].get<uint64_t>() - c["ranges"][rank][0].get<uint64_t>();
      EXPECT_EQ(ColumnSplitBytes(1000, c["dim"], c["world"], rank), 4000 * columns) << c;
    }
  }
  for (const auto& c : vectors_["vocab_split"]) {
    for (uint32_t rank = 0; rank < c["world"]; ++rank) {
      const uint64_t rows =
          c["ranges"][rank][1].get<uint64_t>() - c["ranges"][rank][0].get<uint64_t>();
      EXPECT_EQ(RowSplitBytes(c["rows"], 16, c["world"], rank), 64 * rows) << c;
    }
  }
  EXPECT_EQ(RowSplitBytes(5, 2, 3, 1), 16u);
  EXPECT_EQ(RowSplitBytes(5, 2, 3, 2), 8u);
}

TEST_F(TableSizes, BlocksOnEveryRankSaveWhatTheNotebookSays) {
  ASSERT_EQ(vectors_["tensor_parallel_saving"].size(), 4u);
  for (const auto& c : vectors_["tensor_parallel_saving"]) {
    const BlockSplit split = SplitIntoBlocks(c["V"], c["E"], c["world"]);
    EXPECT_EQ(split.saved, c["notebook_saved_params_all_devices"]) << c;
    EXPECT_EQ(split.per_rank, c["params_block_per_device"]) << c;
  }
  EXPECT_LT(SplitIntoBlocks(8, 64, 2).saved, 0) << "projections larger than the rows";
}

// ---- By hand ------------------------------------------------------------------------------------

TEST(TableBytes, StateIsTheOptimizersAndTrailersAreStored) {
  TableSpec table = TableSizesTable("plain", 10, 8);
  EXPECT_EQ(BytesOfTable(table, false, false), (TableBytes{320, 0, 160}));
  table.optimizer = "adagrad";
  EXPECT_EQ(BytesOfTable(table, false, false), (TableBytes{320, 320, 160}));
  EXPECT_EQ(BytesOfTable(table, false, false).total(), 800u);
  table.optimizer = "rowwise_adagrad";
  EXPECT_EQ(BytesOfTable(table, false, false), (TableBytes{320, 40, 160}));
  EXPECT_EQ(BytesOfTable(table, true, false), (TableBytes{320, 40, 0})) << "no record on workers";
  EXPECT_EQ(BytesOfTable(table, false, true), (TableBytes{320, 0, 0})) << "frozen: never pushed";
}

TEST(TableBytes, WhatDoesNotFit64BitsSaturates) {
  const TableSpec table = TableSizesTable("plain", uint64_t{1} << 62, 4096);
  const TableBytes bytes = BytesOfTable(table, false, false);
  EXPECT_EQ(bytes.rows, UINT64_MAX);
  EXPECT_EQ(bytes.total(), UINT64_MAX);
  EXPECT_EQ(CacheBytes(UINT64_MAX, 2, 4), UINT64_MAX);
}

TEST(ModelSizes, LearnedWeightsAreRowsAlsoOfThePlainTable) {
  LogicalTable table = TableSizesTable("block", 100, 8, {{"block_dim", "2"}});
  table.weighted_pooling = "learned";
  const ModelSizes sizes = SizesOfTable({table});
  EXPECT_EQ(sizes.bytes.rows, 100u * (2 + 1) * 4);
  EXPECT_EQ(sizes.projections, 8u * 2 * 4);
  EXPECT_EQ(sizes.rows_and_projections(), 1264u);
  EXPECT_EQ(sizes.plain_rows, 100u * (8 + 1) * 4);
  EXPECT_EQ(sizes.tables[0].physical_rows, 100u);
  EXPECT_EQ(sizes.lookup, (2u + 1) * 4);
}

TEST(ModelSizes, GroupsOfSeveralTablesAreCountedOnce) {
  // 160 rows in 4 groups of 40, rows of 2 floats: the first table is in three, the other in one.
  LogicalTable first = TableSizesTable("grouped", 100, 8),
               second = TableSizesTable("grouped", 60, 8);
  second.name = "second";
  const ModelSizes sizes = SizesOfTable({first, second});
  EXPECT_EQ(sizes.bytes.rows, 160u * 2 * 4);
  EXPECT_EQ(sizes.projections, 4u * 8 * 2 * 4);
  EXPECT_EQ(sizes.tables[0].physical_rows, 3u * 40);
  EXPECT_EQ(sizes.tables[0].projection, 3u * 8 * 2 * 4);
  EXPECT_EQ(sizes.tables[1].physical_rows, 2u * 40);
  EXPECT_EQ(sizes.tables[1].projection, 2u * 8 * 2 * 4);
  EXPECT_EQ(sizes.lookup, 2u * 2 * 4) << "of one row an id";
  EXPECT_EQ(sizes.plain_rows, 160u * 8 * 4);
}

TEST(ModelSizes, SeveralHashesReadSeveralRowsOfOneTable) {
  const ModelSizes sizes =
      SizesOfTable({TableSizesTable("hashed", 1000, 4, {{"buckets", "10"}, {"hashes", "3"}})});
  EXPECT_EQ(sizes.lookup, 3u * 16);
  EXPECT_EQ(sizes.tables[0].physical_rows, 10u);
  EXPECT_EQ(sizes.tables[0].bytes.rows, 160u);
  EXPECT_EQ(sizes.of_plain(), 0.01);
}

TEST(ModelSizes, OverShardsAndInFewerBits) {
  const EmbeddingTables tables =
      EmbeddingTables::Make(
          {TableSizesTable("qr", 100, 8, {{"collisions", "10"}, {"remainder", "workers"}})})
          .value();
  EXPECT_EQ(QuantisedBytes(tables, 8), 20u * 16);
  EXPECT_EQ(QuantisedBytes(tables, 4), 20u * 8);
  const ShardBytes bytes = FullestShard(tables, 4);  // 10 rows; the others are on workers
  EXPECT_EQ(bytes.by_rows, 3u * 32);
  EXPECT_EQ(bytes.by_columns, 10u * 8);
  EXPECT_EQ(bytes.as_blocks, (2u * 2 + 8 * 2) * 4);
}

// ---- The largest vocabulary
// -----------------------------------------------------------------------

LargestTable Largest(const std::string& kind, uint32_t dim, uint64_t memory,
                     KindOptions options = {}) {
  return LargestVocabulary(TableSizesTable(kind, 0, dim, std::move(options)), memory).value();
}

TEST(LargestVocabulary, IsTheLastThatFits) {
  // A record: 16 floats and a trailer.
  EXPECT_EQ(Largest("plain", 16, 80 * 1000).ids, 1000u);
  EXPECT_EQ(Largest("plain", 16, 80 * 1000 - 1).ids, 999u);
  EXPECT_EQ(Largest("plain", 16, 80 * 1000).bytes, 80000u);
  EXPECT_EQ(Largest("plain", 16, 80).ids, 1u);
  EXPECT_EQ(Largest("plain", 16, 79).ids, 0u);
  EXPECT_EQ(Largest("plain", 16, 79).physical_rows, 0u);
  // Rows of 4 floats and the projection 16 x 4.
  EXPECT_EQ(Largest("block", 16, 256 + 32 * 70, {{"block_dim", "4"}}).ids, 70u);
  EXPECT_EQ(Largest("mixed", 16, 256 + 32 * 70, {{"row_dim", "4"}}).ids, 70u);
  // 96 + 4 rows; 10 + 10 rows.
  EXPECT_EQ(Largest("qr", 16, 80 * 100).ids, 4u * 96);
  EXPECT_EQ(Largest("qr", 16, 80 * 20, {{"collisions", "sqrt"}}).ids, 100u);
}

TEST(LargestVocabulary, OfHashedTablesIsUnbounded) {
  const LargestTable hashed = Largest("hashed", 16, 80 * 1000 + 3);
  EXPECT_FALSE(hashed.ids.has_value());
  EXPECT_EQ(hashed.physical_rows, 1000u);
  EXPECT_EQ(hashed.bytes, 80000u);
  EXPECT_EQ(Largest("hashed", 16, 5).ids, 0u);
}

TEST(LargestVocabulary, EveryKindFillsTheMemoryAndNoMore) {
  size_t measured = 0;
  for (const std::string& kind : TableKinds().Names()) {
    const auto result = LargestVocabulary(TableSizesTable(kind, 0, 16), 1 << 20);
    if (!result.ok()) continue;  // It needs options of its own.
    ++measured;
    EXPECT_LE(result.value().bytes, 1u << 20) << kind;
    EXPECT_GT(result.value().bytes, (1u << 20) - 1024) << kind;
    EXPECT_GT(result.value().physical_rows, 0u) << kind;
  }
  EXPECT_GE(measured, 5u);
}

TEST(LargestVocabulary, ARefusalIsTheKinds) {
  const auto result =
      LargestVocabulary(TableSizesTable("block", 0, 16, {{"block_dim", "17"}}), 1 << 20);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.status().message(), testing::HasSubstr("block_dim=17"));
}

}  // namespace
}  // namespace rowhouse
