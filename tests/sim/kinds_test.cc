// The promise for every table kind, pooling and optimizer: the same losses, rows and dense
// parameters, bit for bit, whatever the number of shards, the cache and the order of deliveries.
#include <set>

#include "tests/sim/kind_variants.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TEST(KindVariants, AreOfEveryKind) {
  std::set<std::string> kinds;
  for (const KindVariant& variant : KindVariants()) kinds.insert(variant.kind);
  const std::vector<std::string> names = TableKinds().Names();
  EXPECT_EQ(kinds, std::set<std::string>(names.begin(), names.end()));
}

class Kinds : public testing::TestWithParam<KindVariant> {
 protected:
  static SimOutcome Train(SimOptions options, const std::string& pooling,
                          const std::string& optimizer) {
    options.dense_optimizer = optimizer;
    return TrainOnSim(options, TaskOf(GetParam(), [&](LogicalTable& table) {
                        table.pooling = pooling;
                        table.optimizer = optimizer;
                      }));
  }
};

TEST_P(Kinds, AreBitIdenticalOnEveryPlanAndCache) {
  uint64_t seed = 0, evicted = 0, overflowed = 0;
  std::vector<std::string> digests;
  for (const std::string& pooling : GetParam().Poolings()) {
    for (const std::string& optimizer : Optimizers().Names()) {
      for (const uint32_t workers : {1u, 3u}) {
        const SimOutcome expected = Train({.workers = workers}, pooling, optimizer);
        EXPECT_GT(expected.rows, 0u);
        if (workers == 1) digests.push_back(expected.digest);
        for (const auto& [shards, cache_ratio] : std::vector<std::pair<uint32_t, double>>{
                 {1, 0.01}, {2, 0.01}, {2, 1.0}, {3, 0.01}, {3, 1.0}, {4, 0.01}, {4, 1.0}}) {
          SCOPED_TRACE(fmt::format("{} {} shards {} cache {} workers {}", pooling, optimizer,
                                   shards, cache_ratio, workers));
          const SimOutcome outcome = Train({.seed = ++seed,
                                            .shards = shards,
                                            .workers = workers,
                                            .cache_ratio = cache_ratio,
                                            .cache_ways = seed % 2 == 0 ? 16u : 2u,
                                            .max_part_rows = seed % 3 == 0 ? 7u : 20000u},
                                           pooling, optimizer);
          EXPECT_EQ(outcome.losses, expected.losses);
          EXPECT_EQ(outcome.digest, expected.digest);
          EXPECT_EQ(outcome.rows, expected.rows);
          EXPECT_EQ(outcome.dense, expected.dense);
          if (cache_ratio == 1.0) continue;
          evicted += outcome.stats.rows_evicted;
          overflowed += outcome.stats.rows_overflowed;
        }
      }
    }
  }
  // Each pooling and optimizer makes a model of its own; a small cache is one.
  EXPECT_EQ(std::set<std::string>(digests.begin(), digests.end()).size(), digests.size());
  EXPECT_GT(evicted, 0u);
  EXPECT_GT(overflowed, 0u);
}

TEST_P(Kinds, NumbersOfWorkersAgreeTo1e5) {
  for (const std::string& pooling : GetParam().Poolings()) {
    for (const std::string& optimizer : Optimizers().Names()) {
      const SimOutcome one = Train({.workers = 1}, pooling, optimizer);
      for (const uint32_t workers : {2u, 4u}) {
        const SimOutcome many = Train({.shards = 2, .workers = workers}, pooling, optimizer);
        EXPECT_EQ(many.rows, one.rows);
        for (size_t step = 0; step < kVariantSteps; ++step) {
          EXPECT_NEAR(many.losses[step], one.losses[step], 1e-5)
              << pooling << " " << optimizer << " " << workers << " workers, step " << step;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, Kinds, testing::ValuesIn(KindVariants()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace rowhouse
