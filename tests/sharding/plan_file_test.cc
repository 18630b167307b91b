// Plans as files: every strategy's comes back as it was, and what does not fit is named.
#include "sharding/plans/plan_file.h"

#include <functional>

#include "sharding/plans/plan_maker.h"
#include "tests/testing/access_counts.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

EmbeddingTables PlanFileModel() {
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
  const EmbeddingTables model = PlanFileModel();
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
    const Result<PlanFile> file = ReadPlanFile(text, PlanFileModel().physical);
    ASSERT_OK(file);
    EXPECT_EQ(file.value().strategy, strategy);
    EXPECT_EQ(file.value().ps, 2u);
    EXPECT_EQ(file.value().shards_per_ps, 2u);
    EXPECT_EQ(file.value().plan.shards(), 4u);
    EXPECT_EQ(PlanFileText(file.value(), PlanFileModel().physical), text);
  }
}

// Comparing each name with all others would take minutes here, and the time limit ends it.
TEST(PlanFile, OfManyTablesTakesNoLongerEach) {
  EmbeddingTables model;
  for (uint32_t i = 0; i < 40'000; ++i) {
    TableSpec table;
    table.id = TableId{i};
    table.name = fmt::format("table {}", i);
    table.rows = 10;
    table.dim = 4;
    model.physical.push_back(table);
  }
  model.on_workers.resize(model.physical.size());
  model.strategies.resize(model.physical.size());
  model.pool_on.resize(model.physical.size());
  const Plan plan = MakePlan(model, {.shards = 1, .strategy = "table_wise_lpt"}).value();
  const std::string text = PlanFileText(
      {.strategy = "table_wise_lpt", .ps = 1, .shards_per_ps = 1, .plan = plan}, model.physical);
  const Result<PlanFile> file = ReadPlanFile(text, model.physical);
  ASSERT_OK(file);
  EXPECT_EQ(file.value().plan.slices(TableId{39'999}).size(), 1u);
}

TEST(PlanFile, MayHaveANameOfItsOwn) {
  json named = json::parse(TextOf("grid"));
  named["name"] = "hot rows apart";
  const Result<PlanFile> file = ReadPlanFile(named.dump(), PlanFileModel().physical);
  ASSERT_OK(file);
  EXPECT_EQ(file.value().name, "hot rows apart");
  EXPECT_EQ(json::parse(PlanFileText(file.value(), PlanFileModel().physical)), named);
  EXPECT_EQ(ReadPlanFile(TextOf("grid"), PlanFileModel().physical).value().name, "");
  for (const json& wrong : {json(""), json("a\nb"), json(std::string(65, 'a')), json(7)}) {
    named["name"] = wrong;
    const Status status = ReadPlanFile(named.dump(), PlanFileModel().physical).status();
    EXPECT_EQ(status.exit_code(), 2);
    EXPECT_THAT(status.message(), HasSubstr("name is ")) << wrong;
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
  const Result<PlanFile> read = ReadPlanFile(file.dump(), PlanFileModel().physical);
  ASSERT_OK(read);
  EXPECT_EQ(PlanFileText(read.value(), PlanFileModel().physical), TextOf("row_wise_hashed"));
}

// Rates and first values are no part of a plan.
TEST(PlanFile, FitsTablesThatDifferInWhatItDoesNotDependOn) {
  EmbeddingTables model = PlanFileModel();
  model.physical[0].learning_rate_factor = 0.5;
  model.physical[1].initialiser = "normal";
  model.physical[1].initialiser_options.seed = 5;
  EXPECT_OK(ReadPlanFile(TextOf("grid"), model.physical));
}

TEST(PlanFile, OfOtherTablesIsRefusedByTheNameOfTheFirstThatDiffers) {
  const auto refusal = [](const std::function<void(std::vector<TableSpec>&)>& change) {
    std::vector<TableSpec> tables = PlanFileModel().physical;
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
    const Status status = ReadPlanFile(file.dump(), PlanFileModel().physical).status();
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
              HasSubstr("plan: slice 1 (line 1): names table \"usr\""));
  EXPECT_THAT(refusal([](json& f) { f["plan"]["slices"][2]["shard"] = "worker"; }),
              HasSubstr("slice 3 (line 1): shard is \"worker\"; expected a whole number from 0 to "
                        "4294967294, or \"workers\""));
  // Numbers that a careless conversion would take for others.
  EXPECT_THAT(refusal([](json& f) { f["plan"]["slices"][0]["columns"][1] = 4294967336; }),
              HasSubstr("slice 1 (line 1): the end of columns is 4294967336"));
  EXPECT_THAT(refusal([](json& f) { f["plan"]["slices"][0]["rows"][0] = -1; }),
              HasSubstr("slice 1 (line 1): the first of rows is -1"));
  EXPECT_THAT(refusal([](json& f) { f["plan"]["slices"][0]["rows"][1] = 25.5; }),
              HasSubstr("the end of rows is 25.5"));
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

// What nobody reads, or reads as something else, is named with the line it stands in.
TEST(PlanFile, WithWhatNobodyReadsIsRefusedByNumberAndLine) {
  const auto refusal = [](const std::string& strategy, const std::string& from,
                          const std::string& to) {
    std::string text = TextOf(strategy);
    const size_t at = text.find(from);
    CHECK(at != std::string::npos) << from;
    text.replace(at, from.size(), to);
    const Status status = ReadPlanFile(text, PlanFileModel().physical).status();
    EXPECT_EQ(status.exit_code(), 2) << status.ToString();
    EXPECT_THAT(status.message(), Not(HasSubstr("json.exception")));
    return status.message();
  };
  const std::string kSecond = "\"rows\":[25,50],\"columns\":[0,40],\"shard\":1";
  const auto slice = [&](const std::string& to) { return refusal("row_wise", kSecond, to); };
  EXPECT_THAT(slice("\"rows\":[25,50],\"columns\":[0,40],\"shrad\":1"),
              HasSubstr("plan: slice 2 (line 17): has no \"shard\""));
  EXPECT_THAT(slice(kSecond + ",\"shards\":2"),
              AllOf(HasSubstr("slice 2 (line 17): has an unknown \"shards\" (known: "),
                    HasSubstr("Did you mean \"shard\"?")));
  EXPECT_THAT(slice(kSecond + ",\"shard\":2"),
              HasSubstr("line 17: the key \"shard\" is there twice"));
  EXPECT_THAT(slice("\"rows\":[25],\"columns\":[0,40],\"shard\":1"),
              HasSubstr("slice 2 (line 17): rows is [25]; expected two numbers"));
  EXPECT_THAT(slice("\"rows\":[25,50],\"columns\":[0,16,40],\"shard\":1"),
              HasSubstr("slice 2 (line 17): columns is [0,16,40]; expected two numbers"));
  EXPECT_THAT(slice("\"rows\":\"25-50\",\"columns\":[0,40],\"shard\":1"),
              HasSubstr("slice 2 (line 17): rows is \"25-50\"; expected a list"));
  EXPECT_THAT(slice("\"rows\":[\"25\",50],\"columns\":[0,40],\"shard\":1"),
              HasSubstr("slice 2 (line 17): the first of rows is \"25\"; expected a whole number"));
  EXPECT_THAT(slice("\"rows\":[50,25],\"columns\":[0,40],\"shard\":1"),
              HasSubstr("slice 2 (line 17): rows [50, 25) are no range"));
  EXPECT_THAT(
      slice("\"rows\":[25,50],\"columns\":[0,32],\"shard\":1"),
      HasSubstr("slice 2 (line 17): has 32 of the 40 columns of table \"user\", which plans "
                "have from plan_version 3 on; this one says 2"));
  EXPECT_THAT(slice("\"rows\":[25,50],\"columns\":[0,40],\"shard\":null"),
              HasSubstr("slice 2 (line 17): shard is null"));
  EXPECT_THAT(slice("\"rows\":[25,50],\"columns\":[0,40],\"shard\":1},7,{\"rows\":[0,1]"),
              HasSubstr("slice 3"));

  const std::string kPlaced = "\"scatter_key\":";
  const auto placement = [&](const std::string& to) {
    return refusal("row_wise_hashed", kPlaced, to);
  };
  EXPECT_THAT(placement("\"pool_on\":\"shards\",\"scatter_key\":"),
              HasSubstr("placement 1 (line 27): has an unknown \"pool_on\""));
  EXPECT_THAT(
      placement("\"pools_on_shards\":\"yes\",\"scatter_key\":"),
      HasSubstr("placement 1 (line 27): pools_on_shards is \"yes\"; expected true or false"));
  EXPECT_THAT(placement("\"worker_rows\":3,\"scatter_key\":"),
              HasSubstr("placement 1 (line 27): worker_rows is 3; expected a list"));
  EXPECT_THAT(placement("\"worker_rows\":[\"3\"],\"scatter_key\":"),
              HasSubstr("placement 1 (line 27): a row of worker_rows is \"3\""));
  EXPECT_THAT(
      refusal("row_wise_hashed", "{\"table\":\"item\",\"scatter", "{\"table\":\"user\",\"scatter"),
      HasSubstr("placement 2 (line 28): table \"user\" has one already"));

  EXPECT_THAT(placement("\"cache_share\":0.5,\"scatter_key\":"),
              HasSubstr("placement 1 (line 27): has a cache_share, which plans have from "
                        "plan_version 4 on; this one says 3"));
  const auto share = [&](const std::string& value) {
    json file = json::parse(TextOf("row_wise_hashed"));
    file["plan"]["plan_version"] = 4;
    file["plan"]["placements"][1]["cache_share"] = json::parse(value);
    return ReadPlanFile(file.dump(), PlanFileModel().physical).status().message();
  };
  EXPECT_EQ(share("0.25"), "");
  for (const char* const value : {"-0.5", "1.5", "null", "\"half\""}) {
    EXPECT_THAT(share(value), HasSubstr(std::string("cache_share is ") + value +
                                        "; expected a number from 0 to 1"));
  }

  const auto top = [&](const std::string& from, const std::string& to) {
    return refusal("row_wise_hashed", from, to);
  };
  EXPECT_THAT(top("\"ps\": 2,", "\"ps\": 2,\n \"ps_rows_mb\": 1,"),
              HasSubstr("has an unknown \"ps_rows_mb\""));
  EXPECT_THAT(top("\"strategy\": \"row_wise_hashed\"", "\"strategy\": \"row_wise_hash\""),
              HasSubstr("unknown sharding strategy \"row_wise_hash\""));
  EXPECT_THAT(top("\"strategy\": \"row_wise_hashed\"", "\"strategy\": 4"),
              HasSubstr("strategy is 4; expected a text"));
  EXPECT_THAT(top("\"plan_version\": 3", "\"plan_version\": \"3\""),
              HasSubstr("plan: plan_version is \"3\"; expected a whole number"));
  EXPECT_THAT(top("\"plan_version\": 3", "\"plan_version\": 0"), HasSubstr("version 0 is older"));
  EXPECT_THAT(
      top("\"plan_version\": 3", "\"plan_version\": 2"),
      HasSubstr("has placements, which plans have from plan_version 3 on; this one says 2"));
  EXPECT_THAT(top("\"plan_version\": 3,", "\"plan_version\": 3, \"slcies\": [],"),
              HasSubstr("has an unknown \"slcies\""));
  EXPECT_THAT(
      refusal("replicated", "\"plan_version\": 2", "\"plan_version\": 1"),
      HasSubstr("slice 1 (line 16): is on the workers, which plans have from plan_version 2"));
  EXPECT_THAT(top("\"id\":1,", "\"id\":1,\"pooling\":\"sum\","),
              HasSubstr("table 2 (line 9): has an unknown \"pooling\""));
  EXPECT_THAT(top("\"name\":\"item\",", "\"name\":7,"),
              HasSubstr("table 2 (line 9): name is 7; expected a text"));
}

TEST(PlanFile, WhosePartsAreOfOtherTypesIsRefusedInASentence) {
  for (const char* key : {"tables_digest", "strategy", "ps", "shards_per_ps", "tables", "plan"}) {
    for (const json& value :
         std::vector<json>{nullptr, "x", -1, 1.5, json::array(), json::object()}) {
      json file = json::parse(TextOf("row_wise_hashed"));
      if (file[key].type() == value.type()) continue;
      file[key] = value;
      const Status status = ReadPlanFile(file.dump(), PlanFileModel().physical).status();
      EXPECT_EQ(status.exit_code(), 2) << key << " " << value << ": " << status.ToString();
      EXPECT_THAT(status.message(), AllOf(HasSubstr(key), Not(HasSubstr("json.exception"))));
    }
    json file = json::parse(TextOf("row_wise_hashed"));
    file.erase(key);
    EXPECT_THAT(ReadPlanFile(file.dump(), PlanFileModel().physical).status().message(),
                HasSubstr(fmt::format("has no \"{}\"", key)));
  }
}

TEST(PlanFile, ThatIsNoJsonIsRefusedByItsLine) {
  std::string text = TextOf("row_wise");
  text.replace(text.find("\"ps\""), 4, "\"ps");
  EXPECT_THAT(ReadPlanFile(text, PlanFileModel().physical).status().message(),
              HasSubstr("line 5: is no JSON"));
  EXPECT_EQ(ReadPlanFile("", PlanFileModel().physical).status().message(), "line 1: is no JSON");
}

}  // namespace
}  // namespace rowhouse
