// max_norm and scale_grad_by_freq on the in-process cluster: the same rows, bit for bit, on any
// number of shards and any cache, and the same training on any number of workers.
#include <algorithm>
#include <cmath>

#include "tests/testing/sim_training.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

constexpr int kTableOptionsSteps = 5;

// Few rows, so that most are looked up more than once a step, by more than one worker.
DatasetOptions TableOptionsDataOptions() {
  return SimData(4, {60, 7, 300}, 31, kTableOptionsSteps, 5);
}

ModelSpec TableOptionsModel() { return SimModel({4, 8}, {8, 1}); }

// The options under test, on tables 0 and 2; table 1 has none.
struct Options {
  std::string name;
  double max_norm = 0.0;
  double norm_type = 2.0;
  bool scale_grad_by_freq = false;
};

EmbeddingTables TableOptionsTables(const Options& options) {
  std::vector<LogicalTable> tables;
  for (const uint64_t rows : TableOptionsDataOptions().shape.table_rows) {
    LogicalTable table;
    table.name = "t" + std::to_string(tables.size());
    table.rows = rows;
    table.dim = TableOptionsModel().bottom_mlp.back();
    table.optimizer = "adagrad";
    if (tables.size() != 1) {
      table.max_norm = options.max_norm;
      table.norm_type = options.norm_type;
      table.scale_grad_by_freq = options.scale_grad_by_freq;
    }
    tables.push_back(table);
  }
  return EmbeddingTables::Make(tables).value();
}

SimOutcome TrainTableOptions(const SimOptions& options, const Options& table_options) {
  return TrainOnSim(options, {.model = TableOptionsModel(),
                              .tables = TableOptionsTables(table_options),
                              .data = TableOptionsDataOptions()});
}

class SimTableOptions : public testing::TestWithParam<Options> {};

TEST_P(SimTableOptions, RowsAreTheSameForEveryPlanCacheAndOrder) {
  uint64_t seed = 0;
  for (const uint32_t workers : {1u, 2u, 3u}) {
    const SimOutcome expected = TrainTableOptions({.workers = workers}, GetParam());
    EXPECT_NE(expected.digest, TrainTableOptions({.workers = workers}, {}).digest)
        << "they do something";
    for (const uint32_t shards : {1u, 2u, 3u}) {
      for (const double cache_ratio : {1.0, 0.05}) {
        const SimOptions options{.seed = ++seed,
                                 .shards = shards,
                                 .workers = workers,
                                 .cache_ratio = cache_ratio,
                                 .cache_ways = 2,
                                 .max_part_rows = seed % 3 == 0 ? 7u : 20000u};
        const SimOutcome outcome = TrainTableOptions(options, GetParam());
        SCOPED_TRACE(fmt::format("workers {} shards {} cache {}", workers, shards, cache_ratio));
        EXPECT_EQ(outcome.losses, expected.losses);
        EXPECT_EQ(outcome.digest, expected.digest);
      }
    }
  }
}

TEST_P(SimTableOptions, NumbersOfWorkersAgreeTo1e5) {
  const SimOutcome one = TrainTableOptions({.workers = 1}, GetParam());
  for (const uint32_t workers : {2u, 3u}) {
    const SimOutcome many = TrainTableOptions({.shards = 2, .workers = workers}, GetParam());
    for (int step = 0; step < kTableOptionsSteps; ++step) {
      EXPECT_NEAR(many.losses[step], one.losses[step], 1e-5)
          << workers << " workers, step " << step;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Options, SimTableOptions,
    testing::Values(
        Options{.name = "scale_grad_by_freq", .scale_grad_by_freq = true},
        Options{.name = "max_norm", .max_norm = 0.1},
        Options{.name = "both", .max_norm = 0.2, .norm_type = 1.5, .scale_grad_by_freq = true}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace rowhouse
