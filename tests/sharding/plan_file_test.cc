// Plans as files: every strategy's comes back as it was, and what does not fit is named.
#include "sharding/plan_file.h"

#include <functional>

#include "sharding/plan_maker.h"
#include "tests/testing/access_counts.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

EmbeddingTables Model() {
  EmbeddingTables model;
  for (const auto& [name, rows, dim] : std::vector<std::tuple<std::string, uint64_t, uint32_t>>{
           {"user", 100, 40}, {"item", 31, 16}, {"small", 3, 4}}) {
    TableSpec table;
    table.id = TableId{static_cast<uint32_t>(model.physical.size())};
    table.name = name;
    table.rows = rows;
    table.dim = dim;
    model.physical.push_back(table);
  }
  model.on_workers = {false, false, true};
  model.strategies.resize(3);
  model.pool_on.resize(3);
  return model;
}

std::string TextOf(const std::string& strategy) {
  const EmbeddingTables model = Model();
  const AccessCounts accesses = CountsByRank(model.physical);
  const Plan plan =
      MakePlan(model, {.shards = 4, .strategy = strategy, .options = {}, .accesses = &accesses})
          .value();
  return PlanFileText({.strategy = strategy, .ps = 2, .shards_per_ps = 2, .plan = plan},
                      model.physical);
}

TEST(PlanFile, OfEveryStrategyComesBackAsItWas) {
  for (const std::string& strategy : ShardingStrategies().Names()) {
    SCOPED_TRACE(strategy);
    const std::string text = TextOf(strategy);
    const Result<PlanFile> file = ReadPlanFile(text, Model().physical);
    ASSERT_OK(file);
    EXPECT_EQ(file.value().strategy, strategy);
    EXPECT_EQ(file.value().ps, 2u);
    EXPECT_EQ(file.value().shards_per_ps, 2u);
    EXPECT_EQ(file.value().plan.shards(), 4u);
    EXPECT_EQ(PlanFileText(file.value(), Model().physical), text);
  }
}

TEST(PlanFile, HasASliceALineWithItsTableByName) {
  const std::string text = TextOf("grid");
  EXPECT_THAT(text, HasSubstr("\n   {\"table\":\"user\",\"rows\":[0,50],\"columns\":[32,40],"
                              "\"shard\":1},\n"));
  EXPECT_THAT(text, HasSubstr("\n   {\"table\":\"small\",\"rows\":[0,3],\"columns\":[0,4],"
                              "\"shard\":\"workers\"}\n"));
}

TEST(PlanFile, TakesTablesByNumberToo) {
  json file = json::parse(TextOf("row_wise_hashed"));
  for (const char* list : {"slices", "placements"}) {
    for (json& one : file["plan"][list]) {
      one["table"] = one["table"] == "user" ? 0 : one["table"] == "item" ? 1 : 2;
    }
  }
  const Result<PlanFile> read = ReadPlanFile(file.dump(), Model().physical);
  ASSERT_OK(read);
  EXPECT_EQ(PlanFileText(read.value(), Model().physical), TextOf("row_wise_hashed"));
}

// Rates and first values are no part of a plan.
TEST(PlanFile, FitsTablesThatDifferInWhatItDoesNotDependOn) {
  EmbeddingTables model = Model();
  model.physical[0].learning_rate_factor = 0.5;
  model.physical[1].initialiser = "normal";
  model.physical[1].initialiser_options.seed = 5;
  EXPECT_OK(ReadPlanFile(TextOf("grid"), model.physical));
}

TEST(PlanFile, OfOtherTablesIsRefusedByTheNameOfTheFirstThatDiffers) {
  const auto refusal = [](const std::function<void(std::vector<TableSpec>&)>& change) {
    std::vector<TableSpec> tables = Model().physical;
    change(tables);
    const Status status = ReadPlanFile(TextOf("row_wise"), tables).status();
    EXPECT_EQ(status.exit_code(), 2);
    return status.message();
  };
  EXPECT_THAT(refusal([](auto& tables) { tables[1].rows = 32; }),
              AllOf(HasSubstr("table \"item\": rows is 31 in the plan, 32 in this model"),
                    HasSubstr("of another config")));
  EXPECT_THAT(refusal([](auto& tables) { tables[0].dim = 48; }),
              HasSubstr("table \"user\": dim is 40 in the plan, 48"));
  EXPECT_THAT(refusal([](auto& tables) { tables[0].optimizer = "adagrad"; }),
              HasSubstr("table \"user\": optimizer is \"sgd\" in the plan, \"adagrad\""));
  EXPECT_THAT(refusal([](auto& tables) { tables[0].precision = "bf16"; }),
              HasSubstr("table \"user\": record_bytes is 176 in the plan, 96"));
  EXPECT_THAT(refusal([](auto& tables) { tables[0].name = "users"; }),
              HasSubstr("table \"user\" of the plan is none of this model's"));
  EXPECT_THAT(refusal([](auto& tables) { tables.pop_back(); }),
              HasSubstr("table \"small\" of the plan is none"));
  EXPECT_THAT(refusal([](auto& tables) {
                tables.push_back(tables[0]);
                tables[3].id = TableId{3};
                tables[3].name = "new";
              }),
              HasSubstr("says nothing of table \"new\""));
}

TEST(PlanFile, WithAMistakeIsRefusedBySayingWhichAndWhere) {
  const auto refusal = [](const std::function<void(json&)>& change) {
    json file = json::parse(TextOf("row_wise"));
    change(file);
    const Status status = ReadPlanFile(file.dump(), Model().physical).status();
    EXPECT_EQ(status.exit_code(), 2) << status.ToString();
    return status.message();
  };
  // Slices 1 to 4 are those of "user", 25 rows each.
  EXPECT_THAT(refusal([](json& f) { f["plan"]["slices"][1]["rows"][0] = 20; }),
              HasSubstr("table \"user\": rows [20, 25) have two owners"));
  EXPECT_THAT(refusal([](json& f) { f["plan"]["slices"].erase(1); }),
              HasSubstr("table \"user\": rows [25, 50) have no owner"));
  EXPECT_THAT(refusal([](json& f) { f["plan"]["slices"][0]["columns"][1] = 48; }),
              HasSubstr("table \"user\": columns [0, 48) are no range of its 40 columns"));
  EXPECT_THAT(refusal([](json& f) { f["plan"]["slices"][0]["shard"] = 4; }),
              HasSubstr("belong to shard 4, but there are 4 shards"));
  EXPECT_THAT(refusal([](json& f) { f["plan"]["slices"][0]["table"] = "usr"; }),
              HasSubstr("slice 1: plan: names table \"usr\""));
  EXPECT_THAT(refusal([](json& f) { f["plan"]["slices"][2]["shard"] = "worker"; }),
              HasSubstr("slice 3: shard is \"worker\""));
  // Numbers that a careless conversion would take for others.
  EXPECT_THAT(refusal([](json& f) { f["plan"]["slices"][0]["columns"][1] = 4294967336; }),
              HasSubstr("slice 1: the end of the columns is 4294967336"));
  EXPECT_THAT(refusal([](json& f) { f["plan"]["slices"][0]["rows"][0] = -1; }),
              HasSubstr("slice 1: the first row is -1"));
  EXPECT_THAT(refusal([](json& f) { f["plan"]["slices"][0]["rows"][1] = 25.5; }),
              HasSubstr("the end of the rows is 25.5"));
  EXPECT_THAT(refusal([](json& f) { f["plan"]["plan_version"] = 99; }),
              HasSubstr("version 99 is newer"));
  EXPECT_THAT(refusal([](json& f) { f["plan"].erase("slices"); }), HasSubstr("slices"));

  EXPECT_THAT(refusal([](json& f) { f["rowhouse_plan"] = 2; }),
              HasSubstr("format 2 is newer than this program, which reads up to 1"));
  EXPECT_THAT(refusal([](json& f) { f.erase("rowhouse_plan"); }), HasSubstr("is no plan"));
  EXPECT_THAT(refusal([](json& f) { f["tables_digest"] = "beef"; }),
              HasSubstr("tables_digest is \"beef\""));
  EXPECT_THAT(refusal([](json& f) { f["tables"].push_back(f["tables"][0]); }),
              HasSubstr("4 entries for 3 tables"));
  EXPECT_THAT(refusal([](json& f) { f["ps"] = 3; }),
              HasSubstr("3 PS nodes of 2 shards are 6 shards, its plan is for 4"));
  EXPECT_THAT(refusal([](json& f) { f["ps"] = "two"; }), HasSubstr("ps is \"two\""));
  EXPECT_THAT(refusal([](json& f) { f.erase("strategy"); }), HasSubstr("strategy"));
  EXPECT_THAT(refusal([](json& f) { f = json::array(); }), HasSubstr("is no plan"));
}

TEST(PlanFile, ThatIsNoJsonIsRefusedByItsLine) {
  std::string text = TextOf("row_wise");
  text.replace(text.find("\"ps\""), 4, "\"ps");
  EXPECT_THAT(ReadPlanFile(text, Model().physical).status().message(),
              HasSubstr("line 5: is no JSON"));
  EXPECT_EQ(ReadPlanFile("", Model().physical).status().message(), "line 1: is no JSON");
}

}  // namespace
}  // namespace rowhouse
