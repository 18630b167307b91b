// What a table is must come out of the manifest as it went in, and older manifests must mean what
// they meant.
#include "sharding/job_spec.h"

#include <limits>
#include <nlohmann/json.hpp>

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

TEST(TablesToJson, OptionsAtTheirDefaultsAreLeftOut) {
  const nlohmann::json json = TablesToJson({NamedTable()});
  EXPECT_FALSE(json[0].contains("max_norm")) << json.dump();
  EXPECT_FALSE(json[0].contains("beta1")) << json.dump();
  const auto read = TablesFromJson(json);
  ASSERT_OK(read.status());
  EXPECT_EQ(read.value(), std::vector{NamedTable()});
}

}  // namespace
}  // namespace rowhouse
