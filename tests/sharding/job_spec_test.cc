// What a table is must come out of the manifest as it went in.
#include "sharding/plans/job_spec.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "sharding/plans/plan_maker.h"
#include "sharding/rows/optimizer.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TableSpec NamedTable() {
  TableSpec table;
  table.name = "user";
  table.rows = 10;
  table.dim = 4;
  return table;
}

TEST(TablesToJson, EveryOptionSurvives) {
  TableSpec table = NamedTable();
  table.optimizer = "adagrad";
  table.optimizer_options = {.epsilon = 0.5f,
                             .initial_accumulator = 0.25f,
                             .learning_rate_decay = 0.125f,
                             .weight_decay = 0.1f,
                             .momentum = 0.2f,
                             .beta1 = 0.3f,
                             .beta2 = 0.4f,
                             .l1 = 0.6f,
                             .l2 = 0.7f,
                             .beta = 0.8f};
  table.initialiser_options = {
      .seed = 7, .first_draw = 8, .file = "rows.npy", .value = 1.5, .scale = 0.25};
  table.precision = "bf16";
  table.learning_rate_factor = 0.5;
  table.max_norm = 2.5;
  table.norm_type = 1.0;
  table.scale_grad_by_freq = true;

  const auto read = TablesFromJson(nlohmann::json::parse(TablesToJson({table}).dump()));
  ASSERT_OK(read.status());
  EXPECT_EQ(read.value(), std::vector{table});
}

TEST(TablesToJson, AnInfiniteNormTypeSurvives) {
  TableSpec table = NamedTable();
  table.norm_type = std::numeric_limits<double>::infinity();
  const auto read = TablesFromJson(nlohmann::json::parse(TablesToJson({table}).dump()));
  ASSERT_OK(read.status());
  EXPECT_EQ(read.value(), std::vector{table});
}

TEST(TableSpec, EveryOptionHasItsRange) {
  for (const OptimizerOptionField& option : OptimizerOptionFields()) {
    for (const float wrong : {-0.5f, INFINITY, NAN}) {
      TableSpec table = NamedTable();
      table.optimizer_options.*option.member = wrong;
      EXPECT_EQ(table.Validate().message(),
                fmt::format("table \"user\": {}={} must be {}", option.name, wrong, option.range));
    }
  }
  TableSpec table = NamedTable();
  table.optimizer_options.beta2 = 1.0f;
  EXPECT_FALSE(table.Validate().ok());
}

TEST(TablesToJson, OptionsAtTheirDefaultsAreLeftOut) {
  const nlohmann::json json = TablesToJson({NamedTable()});
  EXPECT_FALSE(json[0].contains("max_norm")) << json.dump();
  EXPECT_FALSE(json[0].contains("beta1")) << json.dump();
  EXPECT_FALSE(json[0].contains("precision")) << json.dump();
  const auto read = TablesFromJson(json);
  ASSERT_OK(read.status());
  EXPECT_EQ(read.value(), std::vector{NamedTable()});
}

// ---- What a peer says in HELLO ------------------------------------------------------------------

nlohmann::json GoodJob() {
  JobSpec job;
  job.job_id = 1;
  job.model_id = "m";
  job.config_digest = "c";
  job.tables = {NamedTable()};
  job.plan = MakeRowWisePlan(job.tables, 1);
  return nlohmann::json::parse(job.ToJsonText());
}

TEST(JobSpec, NumbersOutOfRangeAreRefusedByName) {
  ASSERT_OK(JobSpec::FromJsonText(GoodJob().dump()));
  struct Wrong {
    const char* where;
    nlohmann::json value;
    const char* said;
  };
  const std::vector<Wrong> cases = {
      {"/workers", 4294967295u, "4294967295 workers and 1 shards"},
      {"/workers", 65537, "at most 65536"},
      {"/workers", 4294967297u, "workers is 4294967297; expected a whole number"},
      {"/workers", -1, "workers is -1"},
      {"/workers", 1.5, "workers is 1.5"},
      {"/workers", 0, "0 workers"},
      {"/shards_per_node", 0, "in nodes of 0"},
      {"/job_id", "7", "job_id is"},
      {"/pull_precision", "f16", "pull_precision is f32 or bf16, not \"f16\""},
      {"/tables/0/rows", -1, "rows is -1"},
      {"/tables/0/dim", 4294967296u, "dim is 4294967296"},
      {"/tables/0/optimizer", "adagard", "unknown"},
      {"/plan/shards", 4294967295u, "at most"},
  };
  for (const Wrong& wrong : cases) {
    nlohmann::json job = GoodJob();
    job[nlohmann::json::json_pointer(wrong.where)] = wrong.value;
    const Status status = JobSpec::FromJsonText(job.dump()).status();
    EXPECT_THAT(status.message(), testing::HasSubstr(wrong.said)) << wrong.where;
  }
}

TEST(JobSpec, OneNestedWithoutEndIsRefused) {
  nlohmann::json job = GoodJob();
  job["plan"]["plan_version"] = "DEEP";
  std::string text = job.dump();
  const std::string deep = std::string(1000000, '[') + std::string(1000000, ']');
  text.replace(text.find("\"DEEP\""), 6, deep);
  EXPECT_EQ(JobSpec::FromJsonText(text).status().message(),
            "job description: is nested more than 32 levels deep");
}

}  // namespace
}  // namespace rowhouse
