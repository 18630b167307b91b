#include "sharding/lab/planner/table_forms.h"

#include "tests/sharding/planner/made_workload.h"

namespace rowhouse {
namespace {

TEST(TableForms, ARowIsReadOnceForEachRangeOfColumns) {
  Workload workload = MadeWorkload({{.rows = 1'000'000, .dim = 64, .bag = 10, .zipf = 1.05}});
  workload.storage = {.cache_bytes = uint64_t{4} << 20};
  const ClusterShape cluster = MadeCluster(4);
  const Machine machine = Machine::Typical();
  TableForms forms(workload, cluster, machine, /*hot_rows=*/0);
  const TableId table{0};
  forms.SetReadShare(table, 0);
  const TableForm bags = forms.Bags(table), rows = forms.Rows(table);
  ASSERT_TRUE(bags.cuts_columns);
  forms.SetReadShare(table, 0.5);
  const TableForm reading_bags = forms.Bags(table), reading_rows = forms.Rows(table);
  const double of_reads = reading_rows.WholeMs() - rows.WholeMs();
  EXPECT_GT(of_reads, 0);
  EXPECT_NEAR(reading_bags.WholeMs() - bags.WholeMs(), of_reads, 1e-9) << "whole tables read alike";
  EXPECT_GT(reading_bags.piece_ms - bags.piece_ms, 0.5 * of_reads) << "each piece reads the row";
  EXPECT_EQ(reading_rows.piece_ms, rows.piece_ms) << "a row is in one range of rows";
}

}  // namespace
}  // namespace rowhouse
