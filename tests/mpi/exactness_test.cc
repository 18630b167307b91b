// The promise through real processes: mpirun, ZeroMQ, RocksDB. The same losses and the same rows
// digest, bit for bit, whatever the number of PS nodes, shards and cached rows; over numbers of
// workers to 1e-5; and the same bits as the simulated cluster of tests/sim.
//
// 37 runs stand for all 162: every triple of values of (PS nodes, shards, cache, optimizer,
// workers) occurs in one of them, which TheCasesCoverEveryTriple proves.
#include <array>

#include "tests/mpi/simulated_train.h"
#include "tests/testing/covering_cases.h"
#include "tests/testing/process.h"

namespace rowhouse {
namespace {

constexpr size_t kSteps = 50;
constexpr std::array kPsNodes = {"1", "2", "3"};
constexpr std::array kShards = {"1", "2", "4"};
constexpr std::array kCache = {"0.01", "1"};  // part of each table's rows
constexpr std::array kOptimizers = {"sgd", "adagrad", "rwsadagrad"};
constexpr std::array kWorkers = {"1", "2", "3"};

// Indices into the lists above, in their order.
using Case = FactorLevels;
enum Factor { kPs, kShard, kCached, kOptimizer, kWorker };

std::string Name(const Case& c) {
  return fmt::format("PS {} shards {} cache {} {} workers {}", kPsNodes[c[kPs]], kShards[c[kShard]],
                     kCache[c[kCached]], kOptimizers[c[kOptimizer]], kWorkers[c[kWorker]]);
}

// The case all others of its optimizer and number of workers are compared with.
Case Reference(size_t optimizer, size_t workers) { return {0, 0, 1, optimizer, workers}; }

// The references, then from the orthogonal array workers = PS + shards + optimizer mod 3 with
// either cache.
std::vector<Case> ExactnessCases() {
  std::vector<Case> references, candidates;
  for (size_t optimizer = 0; optimizer < 3; ++optimizer) {
    for (size_t workers = 0; workers < 3; ++workers) {
      references.push_back(Reference(optimizer, workers));
    }
    for (size_t ps = 0; ps < 3; ++ps) {
      for (size_t shards = 0; shards < 3; ++shards) {
        for (size_t cache = 0; cache < 2; ++cache) {
          candidates.push_back({ps, shards, cache, optimizer, (ps + shards + optimizer) % 3});
        }
      }
    }
  }
  return CoveringCases(std::move(references), candidates, /*strength=*/3);
}

// Each optimizer has data of its own kind: every one has tables of which 1 % is less than a step
// touches.
//   sgd:        a table with fewer rows than shards, bags of up to 8 distinct ids, DLRM's first
//   rows adagrad:    ids repeated within bags (which only gaussian ids have), popular rows
//   rwsadagrad: always 6 draws a bag, a last step with fewer samples than the others
std::vector<std::string> ExactnessModelFlags(size_t optimizer) {
  std::vector<std::string> flags = {"--arch_sparse_feature_size=8",
                                    "--arch_mlp_bot=5-16-8",
                                    "--arch_mlp_top=16-1",
                                    "--loss_function=bce",
                                    "--round_targets",
                                    "--mini_batch_size=40",
                                    "--learning_rate=0.1",
                                    "--numpy_rand_seed=727",
                                    "--rpc_deadline_ms=40000",
                                    fmt::format("--optimizer={}", kOptimizers[optimizer])};
  const auto add = [&](std::initializer_list<std::string> more) {
    flags.insert(flags.end(), more);
  };
  if (optimizer == 0) {
    add({"--arch_embedding_size=2000-60-3-5000", "--num_indices_per_lookup=8", "--num_batches=50",
         "--initialiser=dlrm"});
  } else if (optimizer == 1) {
    add({"--arch_embedding_size=4000-900-1500", "--num_indices_per_lookup=8", "--num_batches=50",
         "--rand_data_dist=gaussian", "--rand_data_max=899", "--rand_data_sigma=60"});
  } else {
    add({"--arch_embedding_size=3000-1000-40", "--num_indices_per_lookup=6",
         "--num_indices_per_lookup_fixed", "--data_size=1977"});
  }
  return flags;
}

TrainResult TrainCase(const Case& c) {
  TrainRun run{.ranks = static_cast<uint32_t>(c[kPs] + 1 + c[kWorker] + 1),
               .flags = ExactnessModelFlags(c[kOptimizer])};
  run.flags.push_back(fmt::format("--ps={}", kPsNodes[c[kPs]]));
  run.flags.push_back(fmt::format("--shards={}", kShards[c[kShard]]));
  run.flags.push_back(fmt::format("--cache_ratio={}", kCache[c[kCached]]));
  const TempDir rows;
  run.flags.push_back("--row_dir=" + rows.path());
  return Train(std::move(run));
}

// Cross layers are dense parameters of another kind: exchanged, optimized and summed as the MLPs.
TEST(Exactness, CrossLayersTrainTheSameOnAnyPlan) {
  std::vector<TrainResult> results;
  for (const uint32_t ps : {1u, 2u}) {
    TrainRun run{.ranks = ps + 1, .flags = ExactnessModelFlags(1)};
    run.flags.insert(run.flags.end(), {fmt::format("--ps={}", ps), "--arch_interaction_op=dcn",
                                       "--dcn_num_layers=2", "--dcn_low_rank_dim=4"});
    results.push_back(Train(std::move(run)));
    ASSERT_EQ(results.back().exit_code, 0) << results.back().Describe();
  }
  ASSERT_EQ(results[0].losses.size(), kSteps);
  EXPECT_LT(results[0].losses.back(), results[0].losses.front());
  EXPECT_EQ(results[0].losses, results[1].losses);
  EXPECT_EQ(results[0].digest, results[1].digest);
  EXPECT_EQ(results[0].digest.size(), 32u);
}

TEST(Exactness, TheCasesCoverEveryTriple) {
  const std::vector<Case> cases = ExactnessCases();
  for (const Case& c : cases) fmt::print("{}\n", Name(c));
  EXPECT_EQ(CombinationsOfAll(cases, 3), CombinationsOfAll(AllCases({3, 3, 2, 3, 3}), 3));
  EXPECT_LE(cases.size(), 40u);
}

class ExactnessOver : public testing::TestWithParam<size_t> {};

TEST_P(ExactnessOver, PlansAndCachesAreBitIdenticalAndWorkersAgree) {
  std::array<TrainResult, 3> references;  // by workers
  for (const Case& c : ExactnessCases()) {
    if (c[kOptimizer] != GetParam()) continue;
    SCOPED_TRACE(Name(c));
    const TrainResult result = TrainCase(c);
    ASSERT_EQ(result.exit_code, 0) << result.Describe();
    ASSERT_EQ(result.losses.size(), kSteps) << result.Describe();
    ASSERT_EQ(result.digest.size(), 32u);
    EXPECT_EQ(result.report.at("environment").at("shards"),
              std::stoul(kPsNodes[c[kPs]]) * std::stoul(kShards[c[kShard]]));
    // A small cache must have been one: rows left it, and a step was larger than it.
    EXPECT_EQ(result.OverShards("rows_evicted") > 0, c[kCached] == 0);
    EXPECT_EQ(result.OverShards("rows_overflowed") > 0, c[kCached] == 0);

    TrainResult& reference = references[c[kWorker]];
    if (c == Reference(c[kOptimizer], c[kWorker])) reference = result;
    EXPECT_EQ(result.losses, reference.losses);
    EXPECT_EQ(result.digest, reference.digest);
    for (size_t step = 0; step < kSteps; ++step) {
      EXPECT_NEAR(result.losses[step], references[0].losses[step], 1e-5) << "step " << step;
    }
  }
  EXPECT_NE(references[0].losses.front(), references[0].losses.back());

  for (uint32_t workers = 1; workers <= 3; ++workers) {
    SCOPED_TRACE(fmt::format("simulated, {} workers", workers));
    const TrainResult simulated = SimulateTrain(
        ExactnessModelFlags(GetParam()),
        {.seed = 4 + workers, .shards = 1 + workers, .workers = workers, .cache_ratio = 0.05});
    EXPECT_EQ(simulated.losses, references[workers - 1].losses);
    EXPECT_EQ(simulated.digest, references[workers - 1].digest);
  }
}

INSTANTIATE_TEST_SUITE_P(Optimizers, ExactnessOver, testing::Values(0, 1, 2),
                         [](const auto& test) { return std::string(kOptimizers[test.param]); });

}  // namespace
}  // namespace rowhouse
