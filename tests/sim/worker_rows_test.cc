// Rows on the workers are those that a shard would have: losses and rows digest are the same, bit
// for bit, whether the remainder table of a QR embedding lies on the workers or on shards.
#include "worker/embedding/worker_rows.h"

#include "sharding/plans/plan_maker.h"
#include "tests/testing/sim_training.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

constexpr int kWorkerRowsSteps = 5;

DatasetOptions WorkerRowsDataOptions() { return SimData(4, {200, 50}, 5, kWorkerRowsSteps, 5); }

struct WorkerRowsCase {
  std::string optimizer;
  bool scale_grad_by_freq = false;
  double max_norm = 0.0;
};

EmbeddingTables WorkerRowsTables(const WorkerRowsCase& c, const std::string& remainder) {
  std::vector<LogicalTable> tables;
  for (const uint64_t rows : WorkerRowsDataOptions().shape.table_rows) {
    LogicalTable table;
    table.name = "t" + std::to_string(tables.size());
    table.rows = rows;
    table.dim = 4;
    table.kind = "qr";
    table.kind_options = {{"collisions", "sqrt"}, {"remainder", remainder}};
    table.optimizer = c.optimizer;
    table.scale_grad_by_freq = c.scale_grad_by_freq;
    table.max_norm = c.max_norm;
    tables.push_back(table);
  }
  return EmbeddingTables::Make(tables).value();
}

SimOutcome TrainWorkerRows(const WorkerRowsCase& c, const std::string& remainder,
                           const SimOptions& options) {
  ModelSpec model;
  model.bottom_mlp = {4, 4};
  model.top_mlp = {6, 1};
  model.loss = "bce";
  return TrainOnSim(
      options,
      {.model = model, .tables = WorkerRowsTables(c, remainder), .data = WorkerRowsDataOptions()});
}

TEST(WorkerRows, TrainTheSameModelAsRowsOnShards) {
  std::vector<WorkerRowsCase> cases = {
      {.optimizer = "adagrad", .scale_grad_by_freq = true, .max_norm = 0.1}};
  for (const std::string& optimizer : Optimizers().Names())
    cases.push_back({.optimizer = optimizer});
  for (const WorkerRowsCase& c : cases) {
    for (const uint32_t workers : {1u, 2u, 3u}) {
      SCOPED_TRACE(fmt::format("{} workers {}", c.optimizer, workers));
      const SimOutcome on_shards = TrainWorkerRows(c, "shards", {.shards = 2, .workers = workers});
      const SimOutcome on_workers = TrainWorkerRows(c, "workers", {.seed = 9, .workers = workers});
      EXPECT_EQ(on_workers.losses, on_shards.losses);
      EXPECT_EQ(on_workers.digest, on_shards.digest);
      EXPECT_EQ(on_workers.rows, on_shards.rows);
      EXPECT_EQ(on_workers.dense, on_shards.dense);
      EXPECT_LT(on_workers.stats.pulled.total(), on_shards.stats.pulled.total());
    }
  }
}

TEST(WorkerRows, ComeBackAsTheyWereSaved) {
  const EmbeddingTables tables = WorkerRowsTables({.optimizer = "adagrad"}, "workers");
  const Plan plan = MakeRowWisePlan(tables.physical, 1, tables.on_workers);
  const auto rows = WorkerRows::Make(tables.physical, plan).value();
  EXPECT_EQ(rows->existing_rows(), 0u);
  EXPECT_EQ(rows->Digest(), RowsDigest());
  std::vector<float> exchange(rows->allreduce_floats(), -0.0f);
  // Table t0.remainder has 15 rows of 4 columns; row 2 is touched once.
  std::fill_n(&exchange[2 * 4], 4, 0.5f);
  exchange[15 * 4 + 2] = 1.0f;
  ASSERT_OK(rows->Apply(/*step=*/0, /*learning_rate=*/0.1f, exchange));
  EXPECT_EQ(rows->existing_rows(), 1u);

  const auto again = WorkerRows::Make(tables.physical, plan).value();
  ASSERT_OK(again->Load(rows->Save()));
  EXPECT_EQ(again->Digest(), rows->Digest());
  EXPECT_EQ(again->Load(std::vector<float>(3)).code(), StatusCode::kCorruption);
}

TEST(WorkerRows, ALargeTableIsRefused) {
  LogicalTable table;
  table.name = "user";
  table.rows = uint64_t{1} << 60;
  table.dim = 4;
  table.kind = "qr";
  table.kind_options = {{"collisions", "sqrt"}, {"remainder", "workers"}};
  const EmbeddingTables tables = EmbeddingTables::Make({table}).value();
  const Plan plan = MakeRowWisePlan(tables.physical, 1, tables.on_workers);
  EXPECT_THAT(WorkerRows::Make(tables.physical, plan).status().message(),
              testing::HasSubstr("table \"user.remainder\": 1073741824 rows"));
}

}  // namespace
}  // namespace rowhouse
