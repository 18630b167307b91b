// The wide part (sharding/tables/embedding_tables.h) of tables of every kind: its sums and
// gradients, and the same bits on every plan and cache.
#include <random>

#include "tests/sim/kind_variants.h"
#include "tests/testing/embedding_over_arrays.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

class Wide : public testing::TestWithParam<KindVariant> {
 protected:
  static SimTask Task(const std::string& pooling, bool is_wide = true) {
    return TaskOf(
        GetParam(),
        [&](LogicalTable& table) {
          table.pooling = pooling;
          table.optimizer = "adagrad";
          table.pooling_sum = "exact";  // so that shards may pool its bags
        },
        is_wide);
  }
};

// Calls visit(sample, table, row) for each row that the ids of a feature read, by Assign and
// Resolve of its kind alone.
template <typename Visit>
void ForEachRow(const FeatureTable& feature, const Bags& bags, const Visit& visit) {
  for (size_t s = 0; s < bags.samples(); ++s) {
    for (size_t p = bags.offsets[s]; p < bags.offsets[s + 1]; ++p) {
      uint32_t group = 0;
      if (feature.groups.size() > 1) {
        feature.kind->Assign(std::span(&bags.ids[p], 1), std::span(&group, 1));
      }
      const IdGroup& of_id = feature.groups[group];
      for (uint32_t part = of_id.first_part; part < of_id.first_part + of_id.parts; ++part) {
        uint64_t row = 0;
        feature.kind->Resolve(part, std::span(&bags.ids[p], 1), std::span(&row, 1));
        visit(s, feature.parts[part], row);
      }
    }
  }
}

// In float64, with small whole weights: all sums are exact, in any order.
TEST_P(Wide, AddsTheWeightsOfTheRowsOfEachId) {
  std::mt19937 random(5);
  for (const std::string& pooling : GetParam().Poolings()) {
    SCOPED_TRACE(pooling);
    EmbeddingOverArrays layer(Task(pooling).tables);
    const EmbeddingTables& tables = layer.embedding.tables();
    for (auto& rows : layer.tables) {
      for (float& weight : rows) weight = static_cast<float>(random() % 17) - 8.0f;
    }
    std::vector<Bags> bags(2);
    for (size_t k = 0; k < 2; ++k) {
      for (const size_t length : {2, 0, 4, 1, 2, 4}) {  // powers of two: means are exact, too
        for (size_t i = 0; i < length; ++i) {
          bags[k].ids.push_back(random() % tables.features[k].table.rows);
        }
        bags[k].EndBag();
      }
    }
    const size_t samples = bags[0].samples();
    layer.Fetch(bags);
    std::vector<std::vector<double>> gradients;
    for (const auto& rows : layer.tables) gradients.emplace_back(rows.size(), 0.0);
    for (size_t k = 0; k < 2; ++k) {
      const size_t f = tables.columns() + k;
      const auto share = [&](size_t s) {
        return pooling == "mean" ? 1.0 / (bags[k].offsets[s + 1] - bags[k].offsets[s]) : 1.0;
      };
      std::vector<float> of_samples(samples);
      for (float& one : of_samples) one = static_cast<float>(random() % 9) - 4.0f;
      std::vector<double> want(samples, 0.0);
      // The rows are those of the deep table, whose weights have the next table ids.
      ForEachRow(tables.features[k], bags[k], [&](size_t s, TableId table, uint64_t row) {
        const size_t of_weights = Raw(table) + tables.physical.size() / 2;
        EXPECT_EQ(tables.physical[of_weights].name, tables.physical[Raw(table)].name + ".wide");
        want[s] += share(s) * layer.tables[of_weights].at(row);
        gradients[of_weights].at(row) += share(s) * of_samples[s];
      });
      const std::vector<float> got = layer.ForwardOf(f, {0, samples});
      EXPECT_EQ(std::vector<double>(got.begin(), got.end()), want);
      layer.embedding.Backward(f, {0, samples}, of_samples);
    }
    for (size_t t = tables.physical.size() / 2; t < tables.physical.size(); ++t) {
      const std::vector<float> got = layer.TableGradient(t);
      EXPECT_EQ(std::vector<double>(got.begin(), got.end()), gradients[t])
          << tables.physical[t].name;
    }
  }
}

TEST_P(Wide, IsBitIdenticalOnEveryPlanAndCache) {
  uint64_t seed = 0;
  for (const std::string& pooling : GetParam().Poolings()) {
    const SimTask task = Task(pooling);
    for (const uint32_t workers : {1u, 3u}) {
      const SimOutcome expected = TrainOnSim({.workers = workers}, task);
      for (const auto& [shards, strategy, pool_on] :
           std::vector<std::tuple<uint32_t, std::string, std::string>>{
               {2, "row_wise", "workers"}, {4, "column_wise", "workers"}, {3, "", "shards"}}) {
        SCOPED_TRACE(fmt::format("{} workers {} shards {} {} pool_on {}", pooling, workers, shards,
                                 strategy, pool_on));
        SimOptions options{.seed = ++seed,
                           .shards = shards,
                           .workers = workers,
                           .cache_ratio = seed % 2 == 0 ? 0.01 : 1.0};
        if (!strategy.empty()) options.plan.strategy = strategy;
        options.plan.pool_on = pool_on;
        PlanOptions plan = options.plan;
        plan.shards = shards;
        // Of some kinds the deep tables cannot be pooled there.
        if (!MakePlan(task.tables, plan).ok()) continue;
        const SimOutcome outcome = TrainOnSim(options, task);
        EXPECT_EQ(outcome.losses, expected.losses);
        EXPECT_EQ(outcome.digest, expected.digest);
        EXPECT_EQ(outcome.dense, expected.dense);
      }
      // It is trained: without it another model comes out.
      const SimOutcome without = TrainOnSim({.workers = workers}, Task(pooling, /*is_wide=*/false));
      EXPECT_EQ(without.losses.front(), expected.losses.front()) << "weights begin as 0";
      EXPECT_NE(without.losses.back(), expected.losses.back());
      EXPECT_EQ(expected.rows, 2 * without.rows);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, Wide, testing::ValuesIn(KindVariants()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace rowhouse
