// A whole model resolved: which physical tables there are, in which order, and what is refused.
#include "sharding/tables/embedding_tables.h"

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

LogicalTable EmbeddingTablesTable(const std::string& name, uint64_t rows) {
  LogicalTable table;
  table.name = name;
  table.rows = rows;
  table.dim = 4;
  return table;
}

std::string TablesRefusal(const std::vector<LogicalTable>& tables) {
  return EmbeddingTables::Make(tables).status().message();
}

TEST(EmbeddingTables, PhysicalTablesFollowTheirFeatures) {
  LogicalTable qr = EmbeddingTablesTable("b", 100), weighted = EmbeddingTablesTable("c", 7);
  qr.kind = "qr";
  qr.freeze = true;
  weighted.weighted_pooling = "learned";
  weighted.max_norm = 1.0;
  weighted.scale_grad_by_freq = true;
  const EmbeddingTables tables =
      EmbeddingTables::Make({EmbeddingTablesTable("a", 10), qr, weighted}).value();
  std::vector<std::string> names;
  for (const TableSpec& spec : tables.physical) {
    EXPECT_EQ(Raw(spec.id), names.size());
    names.push_back(spec.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b.quotient", "b.remainder", "c", "c.weights"}));
  EXPECT_EQ(tables.is_frozen, (std::vector<bool>{false, true, true, false, false}));
  const TableSpec& weights = tables.physical[4];
  EXPECT_EQ(weights.dim, 1u);
  EXPECT_EQ(weights.initialiser_options.value, 1.0);
  EXPECT_EQ(weights.max_norm, 0.0) << "a norm of rows says nothing of weights";
  EXPECT_TRUE(tables.physical[3].scale_grad_by_freq);
  EXPECT_FALSE(weights.scale_grad_by_freq) << "nor does their number of lookups";
  EXPECT_EQ(tables.features[2].weights, TableId{4});
  EXPECT_EQ(tables.features[1].parts, (std::vector<TableId>{TableId{1}, TableId{2}}));
}

TEST(EmbeddingTables, AWidePartHasAWeightForEachRow) {
  LogicalTable qr = EmbeddingTablesTable("b", 100), greatest = EmbeddingTablesTable("c", 7);
  qr.kind = "qr";
  qr.kind_options = {{"remainder", "workers"}};
  qr.optimizer = "adagrad";
  qr.initialiser = "normal";
  greatest.pooling = "max";
  greatest.precision = "bf16";
  greatest.max_norm = 1.0;
  greatest.norm_type = 1.0;
  greatest.learning_rate = 0.5;
  const std::vector<LogicalTable> given = {EmbeddingTablesTable("a", 10), qr, greatest};
  const EmbeddingTables deep = EmbeddingTables::Make(given).value();
  const EmbeddingTables tables = EmbeddingTables::Make(given, /*has_wide=*/true).value();
  EXPECT_EQ(deep.columns(), 3u);
  EXPECT_EQ(tables.columns(), 3u);
  EXPECT_EQ(tables.widths(), deep.widths());
  ASSERT_EQ(tables.features.size(), 6u);
  ASSERT_EQ(tables.physical.size(), 8u);
  for (size_t t = 0; t < 4; ++t) {
    const TableSpec& rows = tables.physical[t];
    const TableSpec& weights = tables.physical[4 + t];
    EXPECT_EQ(rows, deep.physical[t]) << "ids and names of other tables stay";
    EXPECT_EQ(weights.name, rows.name + ".wide");
    EXPECT_EQ(weights.rows, rows.rows);
    EXPECT_EQ(weights.dim, 1u);
    EXPECT_EQ(weights.optimizer, rows.optimizer);
    EXPECT_EQ(weights.initialiser, "constant");
    EXPECT_EQ(weights.initialiser_options.value, 0.0);
    EXPECT_EQ(weights.precision, "f32");
    EXPECT_EQ(weights.max_norm, 0.0);
    EXPECT_EQ(tables.on_workers[4 + t], tables.on_workers[t]);
  }
  EXPECT_EQ(tables.ColumnOf(5), 2u);
  EXPECT_EQ(tables.features[5].table.pooling, "sum");
  EXPECT_EQ(tables.features[5].table.learning_rate, 0.5);
  EXPECT_THAT(
      EmbeddingTables::Make({given[0], EmbeddingTablesTable("a.wide", 3)}, true).status().message(),
      HasSubstr("table \"a.wide\" is named twice"));
}

TEST(EmbeddingTables, TablesOfOneNameAreOneIfTheyAgree) {
  LogicalTable a = EmbeddingTablesTable("a", 10), b = EmbeddingTablesTable("b", 10);
  a.kind_options = b.kind_options = {{"share", "both"}};
  const EmbeddingTables tables = EmbeddingTables::Make({a, b}).value();
  ASSERT_EQ(tables.physical.size(), 1u);
  EXPECT_EQ(tables.physical[0].name, "both");
  EXPECT_EQ(tables.features[1].parts, std::vector<TableId>{TableId{0}});
  b.optimizer = "adagrad";
  EXPECT_THAT(TablesRefusal({a, b}), HasSubstr("table \"b\": its rows are those of \"both\""));
  // A name that happens to be another table's part.
  LogicalTable qr = EmbeddingTablesTable("c", 100);
  qr.kind = "qr";
  EXPECT_THAT(TablesRefusal({qr, EmbeddingTablesTable("c.quotient", 25)}),
              HasSubstr("\"c.quotient\""));
}

TEST(EmbeddingTables, EveryPartHasAFileOfItsOwn) {
  LogicalTable table = EmbeddingTablesTable("a", 100);
  table.kind = "qr";
  table.initialiser = "npy";
  table.initialiser_options.file = "q.npy";
  EXPECT_THAT(TablesRefusal({table}),
              HasSubstr("init_from names 1 file, a qr table is kept in 2: "
                        "a.quotient (25 x 4), a.remainder (4 x 4); give one for "
                        "each, joined by commas"));
  table.initialiser_options.file = "q.npy,r.npy,s.npy";
  EXPECT_THAT(TablesRefusal({table}), HasSubstr("init_from names 3 files, a qr table"));
  for (const std::string files : {"q 1.npy,r.npy", "q 1.npy, r.npy", " q 1.npy ,\tr.npy ,"}) {
    table.initialiser_options.file = files;
    const EmbeddingTables tables = EmbeddingTables::Make({table}).value();
    EXPECT_EQ(tables.physical[0].initialiser_options.file, "q 1.npy") << files;
    EXPECT_EQ(tables.physical[1].initialiser_options.file, "r.npy") << files;
  }
}

// Comparing each name with all before it would take minutes here, and the time limit ends it.
TEST(EmbeddingTables, SoManyTakeNoLongerEach) {
  std::vector<LogicalTable> many(200'000, EmbeddingTablesTable("", 10));
  for (size_t i = 0; i < many.size(); ++i) many[i].name = fmt::format("t{}", i);
  ASSERT_EQ(EmbeddingTables::Make(many).value().physical.size(), many.size());
  many.back().name = "t0";
  EXPECT_EQ(TablesRefusal(many), "table \"t0\" is named twice");
}

TEST(EmbeddingTables, WhatDoesNotGoTogetherIsNamed) {
  EXPECT_THAT(TablesRefusal({EmbeddingTablesTable("a", 10), EmbeddingTablesTable("a", 10)}),
              HasSubstr("table \"a\" is named twice"));
  LogicalTable table = EmbeddingTablesTable("a", 10);
  table.weighted_pooling = "learned";
  table.pooling = "max";
  EXPECT_THAT(TablesRefusal({table}), HasSubstr("weighted_pooling=learned needs pooling=sum"));
  table = EmbeddingTablesTable("a", 10);
  table.pooling = "max";
  table.scale_grad_by_freq = true;
  EXPECT_THAT(TablesRefusal({table}),
              HasSubstr("scale_grad_by_freq is not defined for pooling=max"));
  table = EmbeddingTablesTable("a", 10);
  table.padding_id = 10;
  EXPECT_THAT(TablesRefusal({table}), HasSubstr("padding_id=10 is outside its 10 rows"));
  table = EmbeddingTablesTable("a", 10);
  table.norm_type = 1.0;
  EXPECT_THAT(TablesRefusal({table}), HasSubstr("norm_type=1 has no effect without max_norm"));
  table.max_norm = 1.0;
  EXPECT_EQ(TablesRefusal({table}), "");
  table = EmbeddingTablesTable("a", 10);
  table.pooling = "men";
  EXPECT_THAT(TablesRefusal({table}), HasSubstr("Did you mean \"mean\"?"));
}

}  // namespace
}  // namespace rowhouse
