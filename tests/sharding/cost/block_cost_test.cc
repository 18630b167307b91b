// Block tables in the cost model: fewer bytes, a projection's products, and its share of the
// allreduce.
#include "sharding/lab/cost/step_cost.h"
#include "sharding/plans/plan_maker.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

constexpr uint32_t kDim = 128, kBlockDim = 32;
constexpr uint64_t kSamples = 4096;

Workload WorkloadOfKind(const std::string& kind) {
  LogicalTable table;
  table.name = "user";
  table.rows = 1'000'000;
  table.dim = kDim;
  table.kind = kind;
  if (kind == "block") table.kind_options = {{"block_dim", std::to_string(kBlockDim)}};
  Workload workload;
  workload.tables = EmbeddingTables::Make({table}).value();
  workload.step = {.samples = kSamples, .workers = 2, .bag_lengths = {1.0}, .zipf_exponent = 0};
  workload.of_table = {IdDistribution::Uniform(1e6)};
  workload.lookups = {1.0};
  workload.dense = {.bottom = {13, kDim},
                    .top = {2 * kDim, 1},
                    .interaction = "cat",
                    .vectors = 2,
                    .width = kDim,
                    .optimizer = "sgd",
                    .parameters = 10'000};
  if (kind == "block") workload.dense.parameters += kDim * kBlockDim;
  workload.storage.cache_bytes = uint64_t{1} << 40;
  workload.data_source = "synthetic";
  return workload;
}

StepCost CostOf(const std::string& kind, const Machine& machine) {
  const Workload workload = WorkloadOfKind(kind);
  ClusterShape cluster;
  cluster.ps = 2;
  cluster.workers = 2;
  return PredictStep(workload, MakeRowWisePlan(workload.tables.physical, 2), cluster, machine)
      .value();
}

TEST(BlockCostTest, RowsShrinkAndTheProjectionIsALayer) {
  const Machine machine = Machine::Typical();
  const StepCost plain = CostOf("plain", machine), block = CostOf("block", machine);
  EXPECT_NEAR(block.workers[0].rows_pulled, plain.workers[0].rows_pulled, 1e-6);
  // Pulled rows: 4 bytes a float; what else a row has on the wire stays.
  EXPECT_NEAR(plain.workers[0].bytes_in - block.workers[0].bytes_in,
              plain.workers[0].rows_pulled * 4 * (kDim - kBlockDim),
              0.02 * plain.workers[0].bytes_in);
  const double samples = kSamples / 2.0;
  const double layer_ms = (machine.Ns("fully_connected_forward", {samples, kBlockDim, kDim}) +
                           machine.Ns("fully_connected_backward", {samples, kBlockDim, kDim})) *
                          1e-6;
  // It is timed with the bags that it projects.
  EXPECT_EQ(block.phases.mlp, plain.phases.mlp);
  EXPECT_GT(block.phases.pool + block.phases.pool_backward, layer_ms);
}

TEST(BlockCostTest, WorkersSumTheGradientsOfTheProjection) {
  const Machine machine = Machine::Typical();
  EXPECT_GT(CostOf("block", machine).phases.allreduce, CostOf("plain", machine).phases.allreduce);
  EXPECT_GT(CostOf("block", machine).phases.dense_update,
            CostOf("plain", machine).phases.dense_update);
}

}  // namespace
}  // namespace rowhouse
