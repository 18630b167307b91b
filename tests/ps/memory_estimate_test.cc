#include "ps/node/memory_estimate.h"

#include "ps/shard/memory_budget.h"
#include "ps/shard/shard.h"
#include "ps/store/written_rows.h"
#include "sharding/plans/plan_maker.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

constexpr double kMiB = 1 << 20;

double NumberAfter(uint64_t bytes) { return static_cast<double>(bytes); }

std::vector<TableSpec> Tables(const std::vector<uint64_t>& rows, uint32_t dim) {
  std::vector<TableSpec> tables;
  for (const uint64_t count : rows) {
    TableSpec table;
    table.id = TableId{static_cast<uint32_t>(tables.size())};
    table.name = fmt::format("t{}", tables.size());
    table.rows = count;
    table.dim = dim;
    table.optimizer = "sgd";
    tables.push_back(table);
  }
  return tables;
}

// One shard with one slice of records of 272 bytes.
NodeSize OneSlice(double touched_rows, double step_rows = 0, uint64_t rows = 10'000'000) {
  return {.shards = {{{.rows = rows,
                       .columns = 64,
                       .record_bytes = 272,
                       .touched_rows = touched_rows,
                       .step_rows = step_rows}}}};
}

TEST(MemoryEstimate, CachesAreThoseOfTheShard) {
  const std::vector<TableSpec> tables = Tables({50, 4000, 100'000, 30}, 8);
  const Plan equal = MakeRowWisePlan(tables, 4);
  const Plan shared = equal.WithCacheShares(tables, {std::nullopt, 0.2, 0.7, 0.05}).value();
  for (const uint32_t ways : {1, 16}) {
    for (const uint64_t cache_bytes : {4000, 100'000, 10'000'000}) {
      const Plan& plan = cache_bytes == 4000 ? equal : shared;
      NodeSize node{.shards = SlicesOfNode(tables, plan, /*node=*/1, /*shards_per_node=*/2, {}, {}),
                    .cache_bytes = cache_bytes,
                    .cache_ratio = 0.5,
                    .cache_ways = ways};
      const MemoryEstimate estimate = EstimateMemory(node);
      uint64_t rows = 0, bytes = 0;
      for (const uint32_t k : {2, 3}) {
        const auto shard = Shard::Make({.node = {.cache_ratio = 0.5, .cache_ways = ways},
                                        .id = ShardId{k},
                                        .cache_bytes = cache_bytes / 2},
                                       tables, plan, InitialiserSources::Open(tables).value())
                               .value();
        rows += shard->stats().cache_rows;
        bytes += shard->stats().cache_bytes;
      }
      EXPECT_EQ(estimate.cache_rows, rows) << ways << " " << cache_bytes;
      EXPECT_EQ(estimate.cache_bytes, bytes);
    }
  }
}

TEST(MemoryEstimate, RowsAreMemoryOnceTheyAreTouched) {
  NodeSize node = OneSlice(0);
  node.cache_bytes = uint64_t{4} << 30;
  EXPECT_EQ(EstimateMemory(node).records, 0u);
  // In huge pages of 7710 rows one in a thousand rows touches nearly all of them.
  node = OneSlice(10'000);
  node.cache_bytes = uint64_t{4} << 30;
  EXPECT_NEAR(NumberAfter(EstimateMemory(node).records), 2.72e9, 0.01e9);
  node.has_huge_pages = false;
  EXPECT_NEAR(NumberAfter(EstimateMemory(node).records), 10'000 * 4096.0, 0.01 * 10'000 * 4096);
  node = OneSlice(10'000'000);
  node.cache_bytes = uint64_t{4} << 30;
  EXPECT_EQ(EstimateMemory(node).records, 2'720'000'000u);
  EXPECT_EQ(EstimateMemory(node).slots, 10'000'000u) << "a byte a row of a direct array";
}

TEST(MemoryEstimate, ASaveTakesWhatMayBeUnderWayAndAStepItsRequests) {
  // All in memory: the 2.6 GiB of dirty rows, 256 MiB at a time with their ids.
  NodeSize node = OneSlice(10'000'000, 1000);
  node.cache_bytes = uint64_t{4} << 30;
  MemoryEstimate estimate = EstimateMemory(node);
  EXPECT_NEAR(NumberAfter(estimate.unwritten) / kMiB, 256.0 * 280 / 272, 0.1);
  EXPECT_EQ(estimate.requests, 1000u * (8 + 4 + 256 + 24));
  EXPECT_NEAR(NumberAfter(estimate.stored) / kMiB, 64, 0.1);
  EXPECT_EQ(estimate.total(), estimate.process + estimate.records + estimate.slots +
                                  estimate.written_rows + estimate.stored + estimate.blocks +
                                  estimate.unwritten + estimate.heap_slack);
  // A step whose requests are more than that.
  node = OneSlice(10'000'000, 2'000'000);
  node.cache_bytes = uint64_t{4} << 30;
  estimate = EstimateMemory(node);
  EXPECT_EQ(estimate.requests, 2'000'000u * 292);
  EXPECT_GT(estimate.total(), estimate.records + estimate.requests);
  // From disk a pulled row is read first, and what leaves for it is copied;
  // so are rows prefetched for the next step.
  node = OneSlice(10'000'000, 1000);
  node.cache_bytes = 272 * 16'000;
  EXPECT_EQ(EstimateMemory(node).requests, 1000u * (8 + 4 + 256 + 8 + 272) + 1000 * 2 * 280);
}

TEST(MemoryEstimate, OfALimitNoMoreIsTakenThanItAllows) {
  for (const uint64_t mb : {192, 256, 512, 2048}) {
    NodeSize node = OneSlice(1e9, 10'000, uint64_t{1} << 40);
    node.memory_limit_bytes = mb << 20;
    node.cache_bytes = uint64_t{4} << 30;
    const MemoryEstimate estimate = EstimateMemory(node);
    EXPECT_LT(estimate.total(), mb << 20) << mb;
    EXPECT_GT(estimate.total(), (mb << 20) / 2) << mb;
    EXPECT_NEAR(NumberAfter(estimate.written_rows),
                NumberAfter(WrittenRows(uint64_t{1} << 40, CacheBytesOf(node) / 16).memory_bytes()),
                100);
  }
}

TEST(MemoryEstimate, FilesHoldEveryRowOnceAndMoreWhileRowsAreEvicted) {
  NodeSize node = OneSlice(1'000'000);
  node.cache_bytes = uint64_t{4} << 30;
  DiskEstimate disk = EstimateDisk(node);
  EXPECT_EQ(disk.records, 272'000'000u);
  EXPECT_NEAR(NumberAfter(disk.compacted), 1.073 * 272e6, 1e6);
  EXPECT_EQ(disk.peak, disk.compacted) << "a save in the order of rows";
  node.cache_bytes = 27 << 20;  // a tenth
  disk = EstimateDisk(node);
  EXPECT_NEAR(NumberAfter(disk.peak), (1 + 0.4 + 0.5) * NumberAfter(disk.compacted), 1e6)
      << "again and again";
  node.shards[0][0].pulled_rows = 1'000'000;
  EXPECT_NEAR(NumberAfter(EstimateDisk(node).peak), (1 + 0.4) * NumberAfter(disk.compacted), 1e6)
      << "once";
  node.shards.push_back({node.shards[0][0]});
  EXPECT_NEAR(NumberAfter(EstimateDisk(node).peak), (2 + 0.4) * NumberAfter(disk.compacted), 1e6)
      << "one shard at a time";
  node.checkpoints = 2;
  const DiskEstimate saved = EstimateDisk(node);
  EXPECT_NEAR(NumberAfter(saved.checkpoints - 2 * saved.peak), 2 * 3 * 27.0 * (1 << 20), 1e6);
  node.has_files = false;
  EXPECT_EQ(EstimateDisk(node).peak, 0u);
}

TEST(MemoryEstimate, ALogIsThreeLapsOrTheRun) {
  constexpr uint64_t kRow = 8 + 64 * 4, kBlocks = 3 * 4096;
  NodeSize node = OneSlice(1'000'000, /*step_rows=*/100);
  node.max_dirty_steps = 10;
  EXPECT_EQ(EstimateDisk(node).log, 0u);
  node.logs_pushes = true;
  EXPECT_EQ(EstimateDisk(node).log, 3 * 10 * 100 * kRow + kBlocks);
  node.shards[0][0].pulled_rows = 2000;
  EXPECT_EQ(EstimateDisk(node).log, 2000 * kRow + kBlocks);
  node.shards[0][0].pulled_rows = std::nullopt;
  node.max_dirty_steps = 1'000'000;
  EXPECT_EQ(EstimateDisk(node).log, 3 * (uint64_t{512} << 20) + kBlocks) << "a lap of bytes";
  node.shards.push_back(node.shards[0]);
  EXPECT_EQ(EstimateDisk(node).log, 2 * (3 * (uint64_t{512} << 20) + kBlocks));
}

TEST(MemoryEstimate, RowsOfFrozenTablesAreCachedAndNeverStored) {
  NodeSize node = OneSlice(1'000'000);
  node.shards[0][0].is_written = false;
  EXPECT_EQ(EstimateDisk(node).compacted, 0u);
  EXPECT_GT(EstimateMemory(node).records, 200u << 20);
  EXPECT_EQ(EstimateMemory(node).unwritten, 0u);
}

TEST(MemoryEstimate, AStepThatCannotFitIsRefusedWithTheLimitThatItNeeds) {
  NodeSize node = OneSlice(1e6, 100'000);
  node.memory_limit_bytes = uint64_t{128} << 20;  // 32 MiB for requests
  const double bytes = 100'000.0 * (8 + 4 + 256 + 8 + 272);
  EXPECT_EQ(RequestBytes(node), bytes);
  const Status refused = CheckRequestsFit(node, 2);
  EXPECT_EQ(refused.exit_code(), 2);
  EXPECT_THAT(refused.message(),
              testing::StartsWith("a step pulls and pushes about 100000 rows here, "
                                  "from 2 workers, which take 52.3 MiB"));
  EXPECT_THAT(refused.message(), testing::HasSubstr("memory_limit_mb=128 only 32.0 MiB"));
  EXPECT_THAT(refused.message(), testing::HasSubstr("--memory_limit_mb=210 or more"));
  node.memory_limit_bytes = uint64_t{210} << 20;
  EXPECT_OK(CheckRequestsFit(node, 2));
  node.memory_limit_bytes = 0;
  node.shards[0][0].step_rows = 1e12;
  EXPECT_OK(CheckRequestsFit(node, 2)) << "without a limit nothing is refused";
}

TEST(MemoryEstimate, SlicesShareTheirTablesRows) {
  const std::vector<TableSpec> tables = Tables({100, 10}, 8);
  const Plan plan = MakeRowWisePlan(tables, 2);
  const auto shards = SlicesOfNode(tables, plan, 1, 1, {50, 10}, {20, 0}, {false, true});
  ASSERT_EQ(shards.size(), 1u);
  ASSERT_EQ(shards[0].size(), 2u);
  EXPECT_EQ(shards[0][0].rows, 50u);
  EXPECT_EQ(shards[0][0].record_bytes, 48u);
  EXPECT_EQ(shards[0][0].touched_rows, 25.0);
  EXPECT_EQ(shards[0][0].step_rows, 10.0);
  EXPECT_TRUE(shards[0][0].is_written);
  EXPECT_FALSE(shards[0][1].is_written);
}

}  // namespace
}  // namespace rowhouse
