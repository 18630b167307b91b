#include "launch/accountability/accounted_configs.h"

#include <fmt/format.h>

namespace rowhouse {
namespace {

// Sizes, precision and kinds of tables.
std::vector<TrainedConfig> ShapedConfigs() {
  return {
      {.name = "26 tables, dim 16", .tables = 26, .rows = 50'000, .bottom_mlp = "13, 128, 64"},
      {.name = "small batches", .steps = 500, .batch = 128},
      {.name = "large MLPs",
       .steps = 60,
       .dim = 32,
       .bottom_mlp = "13, 512, 256",
       .top_mlp = "512, 256, 1",
       .batch = 2048},
      {.name = "dim 64, large batches", .steps = 80, .dim = 64, .batch = 4096},
      {.name = "dim 64 in bf16", .steps = 100, .dim = 64, .precision = "bf16", .batch = 2048},
      {.name = "evenly spread ids, sgd",
       .dim = 32,
       .optimizer = "sgd",
       .zipf_exponent = 0,
       .batch = 2048},
      {.name = "quotient-remainder, 2 PS nodes",
       .ps = 2,
       .dim = 32,
       .kind = "kind: qr, collisions: 16",
       .batch = 2048},
      {.name = "block, projected", .dim = 64, .kind = "kind: block, block_dim: 16", .batch = 2048},
  };
}

// Bags, and plans of several PS nodes.
std::vector<TrainedConfig> PlacedConfigs() {
  return {
      {.name = "hashed, row-wise Adagrad",
       .tables = 12,
       .rows = 1'000'000,
       .dim = 32,
       .kind = "kind: hashed, buckets: 40000",
       .optimizer = "rowwise_adagrad",
       .batch = 2048},
      {.name = "bags of 20", .steps = 80, .dim = 32, .bag_length = 20, .batch = 512},
      {.name = "bags of 20, pooled on shards, 2 PS nodes",
       .ps = 2,
       .steps = 80,
       .dim = 32,
       .bag_length = 20,
       .batch = 512,
       .strategy = "table_wise_lpt",
       .pool_on = "shards"},
      {.name = "whole tables on 2 PS nodes, Adam",
       .ps = 2,
       .tables = 10,
       .dim = 32,
       .optimizer = "adam",
       .batch = 2048,
       .strategy = "table_wise_lpt"},
      {.name = "columns cut over 2 PS nodes",
       .ps = 2,
       .dim = 64,
       .batch = 2048,
       .strategy = "column_wise"},
  };
}

// Rows that do not fit the cache, and more processes than cores.
std::vector<TrainedConfig> CrowdedConfigs() {
  return {
      {.name = "a tenth of the rows in the cache",
       .steps = 120,
       .tables = 4,
       .rows = 300'000,
       .dim = 32,
       .batch = 2048,
       .cache_mb = 16},
      {.name = "2 workers", .workers = 2, .dim = 32, .batch = 4096},
      {.name = "2 workers, 2 PS nodes",
       .ps = 2,
       .workers = 2,
       .dim = 16,
       .bottom_mlp = "13, 256, 128",
       .top_mlp = "256, 128, 1",
       .batch = 4096},
      {.name = "3 PS nodes", .ps = 3, .dim = 32, .batch = 2048},
  };
}

}  // namespace

std::vector<TrainedConfig> AccuracyConfigs() {
  std::vector<TrainedConfig> configs = ShapedConfigs();
  for (const std::vector<TrainedConfig>& more : {PlacedConfigs(), CrowdedConfigs()}) {
    configs.insert(configs.end(), more.begin(), more.end());
  }
  return configs;
}

std::vector<TrainedConfig> QuickConfigs() {
  return {{.name = "quick", .steps = 30, .tables = 4, .rows = 5000, .batch = 256},
          {.name = "quick, 2 PS nodes, 2 workers",
           .ps = 2,
           .workers = 2,
           .steps = 30,
           .tables = 4,
           .rows = 5000,
           .bag_length = 4,
           .batch = 256,
           .strategy = "table_wise_lpt"}};
}

namespace {

TrainedConfig WithPlan(TrainedConfig config, const std::string& strategy, uint32_t ps,
                       const std::string& pool_on = "workers") {
  config.strategy = strategy;
  config.ps = ps;
  config.pool_on = pool_on;
  config.name =
      fmt::format("{} on {}{}", strategy, ps, pool_on == "shards" ? ", pooled there" : "");
  return config;
}

RankingTest RankingOf(const std::string& name, const TrainedConfig& workload) {
  return {.name = name,
          .plans = {WithPlan(workload, "row_wise", 1), WithPlan(workload, "row_wise", 2),
                    WithPlan(workload, "table_wise_lpt", 2)}};
}

}  // namespace

std::vector<RankingTest> RankingTests() {
  std::vector<RankingTest> tests = {
      RankingOf("26 tables, dim 16", {.steps = 100, .tables = 26, .rows = 50'000}),
      RankingOf("small batches", {.steps = 300, .batch = 128}),
      RankingOf("dim 64", {.steps = 60, .dim = 64, .batch = 4096}),
      RankingOf("evenly spread ids", {.steps = 100, .dim = 32, .zipf_exponent = 0, .batch = 2048}),
  };
  // Bags: who pools them.
  for (const uint32_t length : {5u, 20u, 50u}) {
    const TrainedConfig bags = {
        .steps = 60, .dim = 32, .bag_length = length, .batch = length > 20 ? 256u : 1024u};
    tests.push_back(
        {.name = fmt::format("bags of {}", length),
         .plans = {WithPlan(bags, "row_wise", 1), WithPlan(bags, "table_wise_lpt", 1, "shards"),
                   WithPlan(bags, "table_wise_lpt", 2),
                   WithPlan(bags, "table_wise_lpt", 2, "shards")}});
  }
  // Small tables: rows on the workers or on PS nodes.
  const TrainedConfig small = {
      .steps = 100, .tables = 8, .rows = 2000, .optimizer = "sgd", .batch = 2048};
  tests.push_back({.name = "small tables",
                   .plans = {WithPlan(small, "row_wise", 1), WithPlan(small, "row_wise", 2),
                             WithPlan(small, "replicated", 1)}});
  // Caches.
  TrainedConfig cached = {.steps = 80, .tables = 4, .rows = 300'000, .dim = 32, .batch = 2048};
  RankingTest caches = {.name = "shares of the cache", .plans = {}};
  for (const uint64_t mb : {16, 48, 512}) {
    cached.cache_mb = mb;
    TrainedConfig plan = WithPlan(cached, "row_wise", 1);
    plan.name = fmt::format("cache of {} MiB", mb);
    caches.plans.push_back(plan);
  }
  tests.push_back(caches);
  return tests;
}

}  // namespace rowhouse
