#include "launch/prediction/workload_of_run.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "common/durable_file.h"
#include "launch/hosts/host_facts.h"
#include "launch/prediction/id_counting.h"
#include "launch/prediction/machine_of_run.h"
#include "launch/prediction/plan_of_run.h"
#include "launch/settings/yaml_config.h"
#include "sharding/lab/cost/step_cost.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

Settings Complete(const std::string& yaml) {
  Settings settings;
  const Status read = ReadYamlText(yaml, "test.yaml", &settings);
  CHECK(read.ok()) << read.message();
  settings.Complete();
  return settings;
}

Settings Skewed(bool is_wide = false) {
  return Complete(
      (is_wide ? "model: {wide: true, " : "model: {") +
      std::string("arch_mlp_bot: 13-32, arch_mlp_top: 16-1, arch_sparse_feature_size: 32}\n"
                  "tables: {list: [{name: a, rows: 1000}, {name: b, rows: 50000, kind: qr, "
                  "collisions: 10},\n"
                  "  {name: c, rows: 90000, kind: block, block_dim: 16}]}\n"
                  "data: {data_generation: synthetic, data_size: 10000, synthetic_bag_length: 4}\n"
                  "training: {mini_batch_size: 1000, nepochs: 3}\n"));
}

TEST(WorkloadOfRun, AWidePartIsLookedUpAsItsTables) {
  const Workload deep = WorkloadOf(Skewed(), /*workers=*/2).value();
  const Workload wide = WorkloadOf(Skewed(/*is_wide=*/true), /*workers=*/2).value();
  EXPECT_EQ(wide.dense.parameters, deep.dense.parameters + 13);
  EXPECT_EQ(wide.dense.top, deep.dense.top);
  ASSERT_EQ(wide.tables.physical.size(), 8u);
  ASSERT_EQ(wide.of_table.size(), 8u);
  for (size_t t = 0; t < 4; ++t) {
    EXPECT_EQ(wide.lookups[t], deep.lookups[t]);
    EXPECT_EQ(wide.lookups[4 + t], deep.lookups[t]);
    EXPECT_EQ(wide.of_table[4 + t].DistinctRows(1000.0), deep.of_table[t].DistinctRows(1000.0));
  }
}

TEST(WorkloadOfRun, HasTheModelsShapeAndTheDatasSkew) {
  const Workload workload = WorkloadOf(Skewed(), /*workers=*/2).value();
  EXPECT_EQ(workload.step.samples, 1000u);
  EXPECT_EQ(workload.step.workers, 2u);
  EXPECT_EQ(workload.steps, 30u);
  EXPECT_EQ(workload.steps_of_epoch, 10u);
  EXPECT_EQ(workload.dense.vectors, 4u);
  EXPECT_EQ(workload.dense.width, 32u);
  EXPECT_EQ(workload.dense.top.front(), 32u + 6);
  // Bottom 13 x 32, top 38 x 16 and 16 x 1, each with a bias; the projection of c, 32 x 16.
  EXPECT_EQ(workload.dense.parameters, 14u * 32 + 39 * 16 + 17 + 32 * 16);
  ASSERT_EQ(workload.of_table.size(), 4u);
  EXPECT_NEAR(workload.of_table[1].rows(), 5000, 1e-6);
  EXPECT_EQ(workload.lookups, std::vector<double>(4, 4.0));
  EXPECT_GT(workload.of_table[0].groups()[0].probability, 0.1);
}

// Tables beside each other in groups, whose hottest ids decide how much a group has.
TEST(WorkloadOfRun, LookupsAndRowsOfGroupsAreThoseThatCountingFinds) {
  const Settings settings = Complete(
      "model: {arch_mlp_bot: 4-16, arch_mlp_top: 8-1, arch_sparse_feature_size: 16}\n"
      "tables:\n"
      "  defaults: {kind: grouped, groups: 4}\n"
      "  list: [{name: few, rows: 50}, {name: a, rows: 30000}, {name: b, rows: 60000},\n"
      "    {name: c, rows: 4000}, {name: d, rows: 20000},\n"
      "    {name: qr, rows: 5000, method: qr, share: qr},\n"
      "    {name: few_qr, rows: 90, method: qr, share: qr},\n"
      "    {name: greedy, rows: 9000, mode: greedy, groups: 2, share: greedy},\n"
      "    {name: few_greedy, rows: 700, mode: greedy, groups: 2, share: greedy},\n"
      "    {name: mixed, kind: mixed, rows: 30000}]\n"
      "data: {data_generation: synthetic, data_size: 20480, synthetic_bag_length: 8,\n"
      "  synthetic_bag_fixed: false, zipf_exponent: 1.05}\n"
      "training: {mini_batch_size: 512}\n");
  const Workload workload = WorkloadOf(settings, /*workers=*/1).value();
  const IdCounts counted = CountIds(settings, /*max_samples=*/0).value();
  ASSERT_EQ(counted.counts.tables.size(), workload.lookups.size());
  for (size_t t = 0; t < workload.lookups.size(); ++t) {
    SCOPED_TRACE(counted.counts.tables[t].name);
    const auto lookups = static_cast<double>(counted.counts.tables[t].total());
    EXPECT_NEAR(workload.lookups[t] * 20480 / lookups, 1, 0.03);
    const double rows = 40 * workload.of_table[t].DistinctRows(512 * workload.lookups[t]);
    EXPECT_NEAR(rows / static_cast<double>(counted.rows_pulled[t]), 1, 0.03);
  }
}

TEST(WorkloadOfRun, CountsOfATraceDecideWhereLookupsGo) {
  AccessCounts counts;
  counts.tables.push_back(
      {.name = "a", .rows = 1000, .range_rows = 1000, .ranges = {10}, .hottest = {{3, 9}}});
  const Workload workload = WorkloadOf(Skewed(), 1, &counts).value();
  EXPECT_NEAR(workload.of_table[0].groups()[0].probability, 0.9, 1e-12);
  EXPECT_GT(workload.of_table[2].groups().size(), 10u) << "not counted: as generated";
}

TEST(WorkloadOfRun, RowsOfATablesSampleSayNothingOfWhereLookupsLie) {
  const Settings settings = Complete(
      "model: {arch_mlp_bot: 13-16, arch_mlp_top: 16-1, arch_sparse_feature_size: 16}\n"
      "tables: {list: [{name: a, rows: 1000}, {name: b, rows: 1000}]}\n"
      "data: {data_generation: synthetic, data_size: 1000}\n"
      "training: {mini_batch_size: 100}\n");
  TraceSummary summary;
  summary.samples = 100;
  for (const char* const name : {"a", "b"}) {
    summary.accesses.tables.push_back(
        {.name = name, .rows = 1000, .range_rows = 1000, .ranges = {100}, .hottest = {{3, 9}}});
    summary.tables.push_back({.name = name, .rows = 1000, .lookups = 100, .distinct_rows = 50});
    summary.features.push_back({.name = name, .bags = {}});
  }
  summary.tables[0].sampled = 0.5;
  const Workload workload = TracedWorkload(settings, 1, summary).value();
  ASSERT_NE(workload.by_row, nullptr);
  EXPECT_FALSE((*workload.by_row)[0].has_value());
  EXPECT_TRUE((*workload.by_row)[1].has_value());
}

TEST(WorkloadOfRun, SaysWhereIdsAreFrom) {
  EXPECT_THAT(IdsAreFrom(Skewed(), false), HasSubstr("zipf_exponent=1.05"));
  EXPECT_THAT(IdsAreFrom(Skewed(), true), HasSubstr("traced"));
}

TEST(MachineOfRun, TakesTheNamedFileAndSaysWhatIsWrongWithIt) {
  const TempDir dir;
  const std::string path = dir.path() + "/machine.json";
  Machine machine = Machine::Typical();
  machine.host = "elsewhere";
  ASSERT_OK(WriteFileDurably(path, machine.ToJson().dump()));
  const CalibratedMachine read = MachineOf(path).value();
  EXPECT_EQ(read.path, path);
  EXPECT_THAT(read.warning, HasSubstr("elsewhere"));
  const Status missing = MachineOf(dir.path() + "/none.json").status();
  EXPECT_EQ(missing.code(), StatusCode::kUsage);
  EXPECT_THAT(missing.message(), HasSubstr("--calibration="));
  ASSERT_OK(WriteFileDurably(path, "{\"rows\": 1}"));
  EXPECT_THAT(MachineOf(path).status().message(), HasSubstr("bench calibrate"));
  EXPECT_EQ(MachineOf("typical").value().warning, "");
}

TEST(MachineOfRun, ACalibrationOfAnotherProcessorOrOfABusyHostIsWarnedAbout) {
  const TempDir dir;
  const std::string path = dir.path() + "/machine.json";
  Machine machine = Machine::Typical();
  machine.host = HostName();
  machine.cores = FactsOfThisHost().cpus;
  const auto warning = [&] {
    EXPECT_OK(WriteFileDurably(path, machine.ToJson().dump()));
    return MachineOf(path).value().warning;
  };
  machine.cpu = "Another One";
  EXPECT_THAT(warning(), HasSubstr("is of another processor (Another One), this host has "));
  machine.cpu = CpuName();
  EXPECT_THAT(warning(), HasSubstr("how much longer kernels take within a step"));
  machine.constants["in_step_pull"] = {.value = 1.2};
  EXPECT_EQ(warning(), "");
  const KernelTable gather = machine.kernels["gather"];
  machine.kernels["gather"] = machine.kernels["dense_update_any"];  // of one size, not of two
  EXPECT_THAT(warning(), HasSubstr("lacks gather; typical figures stand in"));
  machine.kernels["gather"] = gather;
  for (auto& [name, kernel] : machine.kernels) {
    auto json = nlohmann::json::parse(kernel.ToJson().dump());
    for (auto& spread : json["spread"]) spread = 0.9;
    kernel = KernelTable::FromJson(json).value();
  }
  EXPECT_THAT(warning(), HasSubstr("was measured beside other work"));
  EXPECT_TRUE(MachineOf(path).value().is_measured_here);
  machine.constants["in_step_pull"].value = -1;
  EXPECT_OK(WriteFileDurably(path, machine.ToJson().dump()));
  EXPECT_THAT(MachineOf(path).status().message(), HasSubstr("expected 0 or more"));
}

TEST(MachineOfRun, OfAHostThatNobodyMeasuredIsTypicalAndSaysSo) {
  const TempDir dir;
  const char* const before = std::getenv("XDG_CACHE_HOME");
  const std::string saved = before == nullptr ? "" : before;
  setenv("XDG_CACHE_HOME", dir.path().c_str(), 1);
  const CalibratedMachine machine = MachineOf(std::string()).value();
  if (before == nullptr) {
    unsetenv("XDG_CACHE_HOME");
  } else {
    setenv("XDG_CACHE_HOME", saved.c_str(), 1);
  }
  EXPECT_EQ(machine.path, "");
  EXPECT_THAT(machine.warning, HasSubstr("not calibrated"));
}

// Every model that the repository ships can be predicted.
TEST(WorkloadOfRun, TypicalMachinesPredictAllKindsAndStrategies) {
  const Settings settings = Skewed();
  const Workload workload = WorkloadOf(settings, 2).value();
  const Plan plan = PlanOf(settings, 2, 2).value();
  const StepCost cost =
      PredictStep(workload, plan, ClusterOf(settings, 2, 2, 2), Machine::Typical()).value();
  EXPECT_EQ(cost.ps.size(), 2u);
  EXPECT_GT(cost.ms, 0);
  EXPECT_GT(cost.phases.mlp, 0);
}

}  // namespace
}  // namespace rowhouse
