// The hit rates of IdDistribution against those of the row cache itself.
#include <gtest/gtest.h>

#include "common/random.h"
#include "common/scatter.h"
#include "launch/bench_tier/cache_hit_ratio.h"
#include "sharding/lab/traffic/id_distribution.h"
#include "worker/data/zipf.h"

namespace rowhouse {
namespace {

struct Case {
  const char* policy;
  double exponent;
  size_t slots;
  double part = 0.1;      // that a step needs of the slots
  size_t uses = 600'000;  // of the run
};

class CacheModel : public testing::TestWithParam<Case> {};

// Steps as the bench of hit ratios has them: a tenth of the slots. Each distinct row of a step is
// used once.
AccessTrace TraceOf(uint64_t rows, double exponent, size_t batch, size_t steps) {
  const Zipf zipf(rows, exponent);
  const Scatter scatter(rows, /*key=*/3);
  SplitMix64 bits(11);
  AccessTrace trace;
  trace.rows = rows;
  std::vector<bool> is_in_step(rows);
  for (size_t step = 0; step < steps; ++step) {
    std::vector<uint64_t> of_step;
    while (of_step.size() < batch) {
      const uint64_t row = scatter(zipf.Draw(&bits) - 1);
      if (is_in_step[row]) continue;
      is_in_step[row] = true;
      of_step.push_back(row);
    }
    for (const uint64_t row : of_step) {
      is_in_step[row] = false;
      trace.accesses.push_back(static_cast<uint32_t>(row));
    }
  }
  return trace;
}

TEST_P(CacheModel, HasTheHitRateOfTheCache) {
  const Case& one = GetParam();
  constexpr uint64_t kRows = 100'000;
  const CacheRun run{
      .slots = one.slots,
      .policy = one.policy,
      .batch_accesses = static_cast<size_t>(one.part * static_cast<double>(one.slots))};
  const size_t steps = one.uses / run.batch();
  const double measured = CacheHitRatio(TraceOf(kRows, one.exponent, run.batch(), steps), run);
  const IdDistribution ids = IdDistribution::Zipf(kRows, one.exponent);
  const double lookups = ids.LookupsFor(static_cast<double>(run.batch()));
  const Retention keeps = CachePolicies().DeclarationOf(one.policy);
  const RowShares predicted =
      ids.SharesOfRun(static_cast<double>(one.slots), lookups,
                      {.keeps = keeps, .steps = static_cast<double>(steps), .messages = 0});
  // Without counts, which rows have low numbers is chance.
  const bool is_blind = keeps.is_fixed;
  EXPECT_NEAR(predicted.cached, measured, is_blind ? 0.06 : 0.02);
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const char* const policy : {"lru", "clock", "lfu", "lrfu", "w_tinylfu", "dataset"}) {
    for (const double exponent : {0.8, 1.05, 1.3}) {
      for (const size_t slots : {1000, 10'000}) cases.push_back({policy, exponent, slots});
    }
  }
  // Steps that need a large part of the cache, and runs too short to learn which rows are hot.
  for (const char* const policy : {"lru", "lfu", "lrfu"}) {
    for (const double part : {0.3, 0.6}) cases.push_back({policy, 1.05, 5000, part});
    cases.push_back({policy, 1.05, 2000, 0.1, 20'000});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Policies, CacheModel, testing::ValuesIn(Cases()),
                         [](const testing::TestParamInfo<Case>& param) {
                           const Case& one = param.param;
                           return std::string(one.policy) + "_" +
                                  std::to_string(static_cast<int>(one.exponent * 100)) + "_" +
                                  std::to_string(one.slots) + "_" +
                                  std::to_string(static_cast<int>(one.part * 100)) + "_" +
                                  std::to_string(one.uses);
                         });

}  // namespace
}  // namespace rowhouse
