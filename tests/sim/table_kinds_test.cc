// Tables of every registered kind on the in-process cluster: the same losses and rows, bit for bit,
// on any number of shards, any cache and any order of messages, and the same training on any number
// of workers. Three features, of which each kind makes what it will; the second has learned
// weights.
#include "common/numpy_random.h"
#include "tests/testing/kind_options.h"
#include "tests/testing/sim_cluster.h"
#include "tests/testing/testing.h"
#include "worker/dense_initialiser.h"
#include "worker/xavier.h"

namespace rowhouse {
namespace {

constexpr int kSteps = 5;
constexpr uint32_t kDim = 6;

// Few rows, so that most are looked up more than once a step, by more than one worker.
DatasetOptions DataOptions() {
  DatasetOptions data;
  data.dense_features = 4;
  data.table_rows = {60, 7, 300};
  data.seed = 31;
  data.mini_batch_size = 24;
  data.num_batches = kSteps;
  data.num_indices_per_lookup = 5;
  data.round_targets = true;
  return data;
}

EmbeddingTables Tables(const std::string& kind) {
  std::vector<LogicalTable> tables;
  for (const uint64_t rows : DataOptions().table_rows) {
    LogicalTable table = TableOfKind(kind, MinimalOptions(kind), rows, kDim);
    table.name = "t" + std::to_string(tables.size());
    table.optimizer = "adagrad";
    tables.push_back(table);
  }
  tables[0].pooling = "mean";
  tables[1].weighted_pooling = "learned";
  tables[2].pooling = "max";
  // With a projection; by default rows of this width have none.
  if (kind == "block") tables[0].kind_options = {{"block_dim", "2"}};
  return EmbeddingTables::Make(tables).value();
}

struct Outcome {
  std::vector<double> losses;
  std::string digest;
  std::vector<float> dense;
};

Outcome Train(SimOptions options, const std::string& kind) {
  const std::unique_ptr<Dataset> data = Datasets().Make("random", DataOptions()).value();
  const EmbeddingTables tables = Tables(kind);
  ModelSpec spec;
  spec.bottom_mlp = {4, 8};
  spec.top_mlp = {8, 1};
  spec.interaction = "cat";
  for (const FeatureTable& feature : tables.features) {
    spec.feature_widths.push_back(feature.out_width());
  }
  spec.loss = "bce";
  DenseParameters dense;
  const DlrmModel model(spec, &dense);
  const EmbeddingLayer embedding(tables, &dense);
  dense.Allocate();
  FillFirstValues(31, &dense);  // the projections
  NumpyRandom random(31);
  InitialiseDense(model.layers(), &random, dense.values());
  options.mini_batch_size = DataOptions().mini_batch_size;
  SimCluster cluster(options, spec, tables, {dense.values().begin(), dense.values().end()});
  Outcome outcome;
  for (int step = 0; step < kSteps; ++step) outcome.losses.push_back(cluster.Step(*data));
  outcome.digest = cluster.Digest();
  outcome.dense = cluster.DenseParameters(0);
  return outcome;
}

class SimTableKinds : public testing::TestWithParam<std::string> {};

TEST_P(SimTableKinds, TrainTheSameBitsForEveryPlanCacheAndOrder) {
  uint64_t seed = 0;
  for (const uint32_t workers : {1u, 3u}) {
    const Outcome expected = Train({.workers = workers}, GetParam());
    for (const uint32_t shards : {2u, 5u}) {
      for (const double cache_ratio : {1.0, 0.05}) {
        const Outcome outcome = Train(
            {.seed = ++seed, .shards = shards, .workers = workers, .cache_ratio = cache_ratio},
            GetParam());
        EXPECT_EQ(outcome.losses, expected.losses) << shards << " shards, seed " << seed;
        EXPECT_EQ(outcome.digest, expected.digest) << shards << " shards, seed " << seed;
        EXPECT_EQ(outcome.dense, expected.dense) << shards << " shards, seed " << seed;
      }
    }
  }
}

TEST_P(SimTableKinds, TrainTheSameOnAnyNumberOfWorkers) {
  const Outcome alone = Train({}, GetParam());
  EXPECT_NE(alone.losses.front(), alone.losses.back());
  for (const uint32_t workers : {2u, 3u}) {
    const Outcome outcome = Train({.shards = 2, .workers = workers}, GetParam());
    for (int step = 0; step < kSteps; ++step) {
      EXPECT_NEAR(outcome.losses[step], alone.losses[step], 1e-5) << workers << " workers";
    }
    ASSERT_EQ(outcome.dense.size(), alone.dense.size());
    for (size_t i = 0; i < alone.dense.size(); ++i) {
      EXPECT_NEAR(outcome.dense[i], alone.dense[i], 1e-5) << workers << " workers, " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, SimTableKinds, testing::ValuesIn(TableKinds().Names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace rowhouse
