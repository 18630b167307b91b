// Tables that share rows.
#include "tests/testing/kind_tables.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

TEST(SharedTables, AreOnePhysicalTable) {
  LogicalTable a = TableOfKind("hashed", {{"buckets", "50"}, {"share", "all"}}, 100, 4), b = a;
  b.name = "table1";
  b.rows = 7;  // ids, not rows: each has its own
  b.kind_options["hash_seed"] = "1";
  b.pooling = "mean";
  const EmbeddingTables tables = EmbeddingTables::Make({a, b}).value();
  ASSERT_EQ(tables.physical.size(), 1u);
  EXPECT_EQ(tables.physical[0].name, "all");
  EXPECT_EQ(tables.features[0].parts, tables.features[1].parts);
}

// Where DLRM's draws of a table begin is counted for each feature; the first one's are the table's.
TEST(SharedTables, BeginAtTheFirstOnesDraw) {
  LogicalTable a = TableOfKind("plain", {{"share", "all"}}, 100, 4), b = a;
  b.name = "table1";
  a.initialiser_options.first_draw = 7;
  b.initialiser_options.first_draw = 407;
  const Result<EmbeddingTables> tables = EmbeddingTables::Make({a, b});
  ASSERT_OK(tables);
  EXPECT_EQ(tables.value().physical[0].initialiser_options.first_draw, 7u);
}

TEST(SharedTables, RefuseToDiffer) {
  const LogicalTable a = TableOfKind("plain", {{"share", "all"}}, 100, 4);
  const auto refused = [&a](const std::function<void(LogicalTable*)>& change) {
    LogicalTable b = a;
    b.name = "table1";
    EXPECT_OK(EmbeddingTables::Make({a, b}));
    change(&b);
    EXPECT_THAT(Refusal({a, b}), HasSubstr("table \"table1\": its rows are those of \"all\""));
  };
  refused([](LogicalTable* b) { b->rows = 99; });
  refused([](LogicalTable* b) { b->dim = 5; });
  refused([](LogicalTable* b) { b->optimizer = "adagrad"; });
  refused([](LogicalTable* b) { b->initialiser_options.seed = 5; });
  refused([](LogicalTable* b) { b->max_norm = 5; });
  refused([](LogicalTable* b) { b->freeze = true; });
  refused([](LogicalTable* b) {
    b->kind = "hashed";
    b->kind_options = {{"share", "all"}, {"buckets", "100"}};
  });
}

TEST(SharedTables, ATableCannotTakeTheRowsOfAnothersPart) {
  const LogicalTable qr = TableOfKind("qr", {}, 100, 4);
  LogicalTable plain = TableOfKind("plain", {{"share", "table0.remainder"}}, 4, 4);
  plain.name = "table1";
  EXPECT_THAT(Refusal({qr, plain}), HasSubstr("its rows are those of \"table0.remainder\""));
}

}  // namespace
}  // namespace rowhouse
