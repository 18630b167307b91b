// Bags of several ids with per-sample weights, through tables of every kind, real processes and
// RocksDB: the same losses and rows on any number of PS nodes.
#include <fstream>

#include "tests/testing/process.h"

namespace rowhouse {
namespace {

// One table of each kind and one with learned weights, of 8 floats.
constexpr const char* kWeightsModel = R"(
model:
  arch_sparse_feature_size: 8
  arch_mlp_bot: [5, 8]
  arch_mlp_top: [16, 1]
  loss_function: bce
tables:
  list:
    - {name: plain, rows: 3000, optimizer: adagrad}
    - {name: learned, rows: 500, weighted_pooling: learned}
    - {name: hashed, rows: 100000, kind: hashed, buckets: 700, hashes: 2}
    - {name: block, rows: 2000, kind: block, block_dim: 3}
    - {name: qr, rows: 4000, kind: qr, collisions: 60, operation: add}
    - {name: mixed, rows: 1000, kind: mixed, row_dim: 2}
data:
  data_generation: synthetic
  data_size: 2400
  effect_scale: 3.0
  synthetic_bag_length: 4
  synthetic_bag_fixed: false
training:
  mini_batch_size: 40
  learning_rate: 0.1
  print_freq: 20
)";

TEST(Weights, OfSamplesReachTablesOfEveryKindOnAnyPlan) {
  const TempDir dir;
  std::ofstream(dir / "model.yaml") << kWeightsModel;
  std::vector<TrainResult> results;
  for (const std::string weights : {"true", "false"}) {
    for (const uint32_t ps : {1u, 2u}) {
      results.push_back(
          Train({.ranks = ps + 2,
                 .flags = {"--config=" + (dir / "model.yaml"), fmt::format("--ps={}", ps),
                           "--cache_ratio=0.1", "--synthetic_weights=" + weights}}));
      ASSERT_EQ(results.back().exit_code, 0) << results.back().Describe();
    }
  }
  ASSERT_EQ(results[0].losses.size(), 3u);
  EXPECT_LT(results[0].losses.back(), results[0].losses.front());
  EXPECT_EQ(results[0].losses, results[1].losses);
  EXPECT_EQ(results[0].digest, results[1].digest);
  EXPECT_EQ(results[0].digest.size(), 32u);
  EXPECT_EQ(results[2].digest, results[3].digest);
  EXPECT_NE(results[0].digest, results[2].digest) << "weights change what is learned";
  EXPECT_GT(results[0].report.at("model_bytes").at("rows"), 0u);
}

}  // namespace
}  // namespace rowhouse
