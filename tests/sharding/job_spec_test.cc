// What a table is must come out of the manifest as it went in, and older manifests must mean what
// they meant.
#include "sharding/job_spec.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "sharding/optimizer.h"
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

// Version 1 wrote the Adagrads' epsilon for every table.
TEST(TablesToJson, TheEpsilonOfVersion1IsReadAsItIs) {
  nlohmann::json json = TablesToJson({NamedTable()});
  json[0]["epsilon"] = 1e-10;
  const auto read = TablesFromJson(json);
  ASSERT_OK(read.status());
  EXPECT_EQ(read.value()[0].optimizer_options.epsilon, 1e-10f);
  EXPECT_OK(Optimizers().Make("sgd", read.value()[0].optimizer_options).status());
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

}  // namespace
}  // namespace rowhouse
