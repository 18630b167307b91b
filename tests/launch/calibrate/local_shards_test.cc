// The shards that are measured do what shards do: a push changes what the next pull brings. A
// thread that is bound runs on its core, and gets back the cores that it had.
#include "launch/calibrate/local_shards.h"

#include <thread>

#include "launch/bench/measured_shard.h"
#include "launch/calibrate/measured_kernel.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::ElementsAre;

std::vector<RowBatch> SomeRows() {
  RowBatch batch{.table = TableId{0}, .dim = 4};
  batch.rows = {RowId{1}, RowId{40}, RowId{90}};
  batch.counts.assign(3, 1);
  batch.values.assign(12, 0.0f);
  batch.gradients.assign(12, 100.0f);
  return {batch};
}

TEST(LocalShards, ApplyWhatIsPushed) {
  for (const uint32_t shards : {1u, 3u}) {
    const auto local = LocalShards::Start(MeasuredTables(1, 100, 4), shards);
    ASSERT_OK(local);
    std::vector<RowBatch> rows = SomeRows();
    const Result<ExchangeNs> pulled = local.value()->Pull(&rows);
    ASSERT_OK(pulled);
    EXPECT_GT(pulled.value().wall, 0);
    EXPECT_GT(pulled.value().worker, 0);
    EXPECT_GT(pulled.value().shards, 0);
    const std::vector<float> before = rows[0].values;
    ASSERT_OK(local.value()->Push(&rows));
    ASSERT_OK(local.value()->Pull(&rows));
    for (size_t i = 0; i < before.size(); ++i) EXPECT_LT(rows[0].values[i], before[i]);
  }
}

TEST(LocalShards, BindTheCallerOnlyWhileTheyAre) {
  const std::vector<int> before = AllowedCores();
  {
    const auto local = LocalShards::Start(MeasuredTables(1, 100, 4), 1);
    ASSERT_OK(local);
    EXPECT_EQ(AllowedCores().size(), 1u);
  }
  EXPECT_EQ(AllowedCores(), before);
}

// Where rows have no places of their own, those that are used are in memory all the same.
TEST(ShardAlone, KeepsWhatIsUsedInASmallerCache) {
  const auto alone = ShardAlone::Make(MeasuredTables(1, 100, 4), /*pools=*/false, 0.5);
  ASSERT_OK(alone);
  std::vector<RowBatch> rows = SomeRows();
  ASSERT_OK(alone.value()->Step(&rows));
  const std::vector<float> before = rows[0].values;
  ASSERT_OK(alone.value()->Step(&rows));
  EXPECT_NE(rows[0].values, before);
}

TEST(ShardAlone, AppliesAStepOfRows) {
  const auto alone = ShardAlone::Make(MeasuredTables(1, 100, 4, "adagrad"));
  ASSERT_OK(alone);
  std::vector<RowBatch> rows = SomeRows();
  const Result<ShardStepNs> ns = alone.value()->Step(&rows);
  ASSERT_OK(ns);
  EXPECT_GT(ns.value().pull, 0);
  EXPECT_GT(ns.value().push, 0);
  EXPECT_GT(ns.value().update, 0);
  const std::vector<float> before = rows[0].values;
  ASSERT_OK(alone.value()->Step(&rows));
  EXPECT_NE(rows[0].values, before);
}

TEST(BoundToCore, HoldsForTheThreadAndThoseItStartsUntilItEnds) {
  const std::vector<int> before = AllowedCores();
  ASSERT_FALSE(before.empty());
  {
    const BoundToCore bound(before.back());
    EXPECT_THAT(AllowedCores(), ElementsAre(before.back()));
    std::vector<int> of_thread;
    std::thread([&] { of_thread = AllowedCores(); }).join();
    EXPECT_THAT(of_thread, ElementsAre(before.back()));
  }
  EXPECT_EQ(AllowedCores(), before);
}

TEST(BoundToCore, ThatIsNotThereChangesNothing) {
  const std::vector<int> before = AllowedCores();
  const BoundToCore bound(CPU_SETSIZE - 1);
  EXPECT_EQ(AllowedCores(), before);
}

}  // namespace
}  // namespace rowhouse
