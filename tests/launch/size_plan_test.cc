// `rowhouse plan --sizes`: the numbers it says, its two forms, and its refusals.
#include "launch/plan/size_plan.h"

#include "launch/command_line/command_line.h"
#include "launch/plan/plan.h"
#include "launch/prediction/node_plan.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;
using SizePlanJson = nlohmann::ordered_json;

Settings Model(const std::vector<LogicalTable>& tables, uint32_t dim) {
  Settings settings;
  settings.sparse_feature_size = dim;
  settings.model.interaction = "cat";
  settings.tables = tables;
  settings.Complete();
  return settings;
}

LogicalTable Table(const std::string& name, uint64_t rows, uint32_t dim,
                   const std::string& kind = "plain", KindOptions options = {}) {
  LogicalTable table;
  table.name = name;
  table.rows = rows;
  table.dim = dim;
  table.kind = kind;
  table.kind_options = std::move(options);
  return table;
}

// The network of Micro-DLRM: 16 numbers, one id a feature, no dot products.
SizePlanJson MicroDlrm(const std::vector<LogicalTable>& tables, uint32_t dim) {
  Settings settings = Model(tables, dim);
  settings.model.bottom_mlp = {16, 8, 8};
  settings.model.top_mlp = {32, 16, 1};
  settings.Complete();
  EXPECT_OK(settings.Validate());
  return SizeFigures(settings, 1 << 20).json;
}

TEST(SizePlan, CountsTheParametersOfMicroDlrm) {
  const nlohmann::json vectors = LoadVectors("table_sizes.json")["micro_dlrm_dram"];
  ASSERT_EQ(vectors["sizes"].size(), 5u);
  for (const auto& c : vectors["sizes"]) {
    std::vector<LogicalTable> tables;
    for (const auto& seed : vectors["seeds"]) {
      tables.push_back(Table("t" + seed.dump(), 1586126, c["m_spa"], "hashed",
                             {{"buckets", c["virtual_table_size"].dump()},
                              {"hash_seed", seed.dump()},
                              {"share", "virtual"}}));
    }
    const SizePlanJson json = MicroDlrm(tables, c["m_spa"]);
    EXPECT_EQ(json["totals"]["parameters"].dump(), c["params"].dump());
    EXPECT_EQ(json["totals"]["rows_bytes"].dump(), c["working_set_bytes"].dump());
    EXPECT_EQ(json["physical_tables"].size(), 1u);
  }
  const SizePlanJson cached =
      MicroDlrm({Table("user", 943, 8), Table("item", 1682, 8), Table("job", 21, 8)}, 8);
  EXPECT_EQ(cached["totals"]["parameters"].dump(), vectors["cache_variant_params"].dump());
}

TEST(SizePlan, JsonHoldsEveryTableAndTheTotals) {
  LogicalTable wide = Table("wide", 1000, 8, "block", {{"block_dim", "2"}});
  wide.optimizer = "adagrad";
  const LogicalTable qr = Table("qr", 100, 8, "qr", {{"remainder", "workers"}});
  Settings settings = Model({wide, qr}, 8);
  settings.cluster.ps = 2;
  const SizePlanJson json = SizeFigures(settings, 4096).json;
  EXPECT_EQ(json["tables"][0].dump(),
            R"({"name":"wide","kind":"block","lives_on":"shards","rows":1000,)"
            R"("physical_rows":1000,"dim":8,"out_width":8,"physical_tables":["wide"],)"
            R"("rows_bytes":8000,"state_bytes":8000,"trailer_bytes":16000,"projection_bytes":64,)"
            R"("plain_rows_bytes":32000,"of_plain":0.252,"lookup_bytes":8})");
  EXPECT_EQ(json["tables"][1]["lives_on"], "shards and workers");
  EXPECT_EQ(json["tables"][1]["trailer_bytes"], 25 * 16);
  EXPECT_EQ(json["physical_tables"][2].dump(),
            R"({"name":"qr.remainder","kind":"qr","rows":4,"dim":8,"optimizer":"sgd",)"
            R"("rows_bytes":128,"state_bytes":0,"trailer_bytes":0,"lives_on":"workers"})");
  EXPECT_EQ(json["totals"]["rows_bytes"], 8000 + 800 + 128);
  EXPECT_EQ(json["totals"]["projection_bytes"], 64);
  EXPECT_EQ(json["totals"]["plain_rows_bytes"], 32000 + 3200);
  EXPECT_EQ(json["shards"].dump(),
            R"({"count":2,"by_rows_bytes":4416,"by_columns_bytes":4400,"as_blocks_bytes":2328})");
}

TEST(SizePlan, EveryKindHasItsLargestVocabulary) {
  // A record of 8 floats and its trailer: 48 bytes.
  const SizePlanJson json = SizeFigures(Model({Table("t", 10, 8)}, 8), 4800).json;
  EXPECT_EQ(json["memory_bytes"], 4800);
  EXPECT_EQ(json["vocabulary_dim"], 8);
  std::map<std::string, std::string> ids;
  for (const SizePlanJson& one : json["vocabularies"]) {
    EXPECT_TRUE(one["refusal"].is_null()) << one;
    ids[one["kind"].get<std::string>() + one["options"].dump()] =
        one["ids"].dump() + " in " + one["physical_rows"].dump();
  }
  for (const std::string& kind : TableKinds().Names()) {
    EXPECT_NE(ids.lower_bound(kind), ids.end()) << kind;
  }
  EXPECT_EQ(ids["plain{}"], "100 in 100");
  EXPECT_EQ(ids["hashed{}"], "null in 100") << "unbounded";
  EXPECT_EQ(ids[R"(block{"block_dim":"2"})"], "197 in 197") << "a quarter of the width";
  EXPECT_EQ(ids[R"(qr{"collisions":"4"})"], "384 in 100");
  EXPECT_EQ(ids[R"(qr{"collisions":"sqrt"})"], "2500 in 100");
  EXPECT_EQ(ids[R"(mixed{"row_dim":"2"})"], "197 in 197") << "rows of 24 bytes, a projection of 64";
}

TEST(SizePlan, OptionsOfTheModelsTablesAreAskedFor) {
  const Settings settings = Model({Table("a", 10, 8, "block", {{"block_dim", "4"}}),
                                   Table("b", 10, 8, "qr", {{"collisions", "sqrt"}})},
                                  8);
  std::vector<std::string> asked;
  const SizePlanJson json = SizeFigures(settings, 4800).json;
  for (const auto& one : json["vocabularies"]) {
    for (const auto& [name, value] : one["options"].items()) {
      asked.push_back(name + "=" + value.get<std::string>());
    }
  }
  EXPECT_THAT(asked, testing::UnorderedElementsAre("block_dim=4", "collisions=sqrt", "row_dim=2"));
}

// cache_sets x cache_lines x dim x 4 bytes.
TEST(SizePlan, ACacheHoldsNoMoreRowsThanThereAre) {
  const auto vectors = LoadVectors("table_sizes.json");
  for (const nlohmann::json& want : vectors["cache_size_formula"]) {
    if (want["element_size"] != sizeof(float)) continue;
    const auto dim = want["embedding_dim"].get<uint32_t>();
    const uint64_t rows = want["cache_sets"].get<uint64_t>() * want["cache_lines"].get<uint64_t>();
    Settings settings = Model({Table("t", rows, dim)}, dim);
    settings.storage.cache_mb = 1 << 20;
    settings.storage.cache_ways = want["cache_lines"];
    EXPECT_EQ(SizeFigures(settings, 1).json["cache"]["bytes"], want["bytes"]);
    // As large a part of a larger table.
    settings = Model({Table("t", 10 * rows, dim)}, dim);
    settings.storage.cache_mb = 1 << 20;
    settings.storage.cache_ways = want["cache_lines"];
    settings.storage.cache_ratio = 0.1;
    EXPECT_EQ(SizeFigures(settings, 1).json["cache"]["bytes"], want["bytes"]);
  }
}

TEST(SizePlan, TextIsAlignedInUnits) {
  Settings settings = Model(
      {Table("a_table", 1048576, 512, "block", {{"block_dim", "128"}}), Table("b", 7, 512)}, 512);
  settings.storage.cache_ways = 1;
  settings.storage.cache_mb = 2064;  // 2^20 records of 512 floats and a trailer
  const std::string text = FiguresAsText(SizeFigures(settings, uint64_t{2064} << 20));
  EXPECT_THAT(text, testing::StartsWith("table    kind   lives on        ids       rows  dim  of "
                                        "rows   weights  state  trailers  projection  of plain\n"
                                        "a_table  block  shards    1,048,576  1,048,576  512      "
                                        "128   512 MiB    0 B  16.0 MiB     256 KiB    0.2501\n"
                                        "b        plain  shards            7          7  512      "
                                        "512  14.0 KiB    0 B     112 B         0 B    1.0000\n"
                                        "total                                                     "
                                        "     512 MiB    0 B  16.0 MiB     256 KiB    0.2501\n"));
  EXPECT_THAT(text, HasSubstr("(537,147,392 bytes), 0.2501 of 2.00 GiB as plain tables\n"));
  EXPECT_THAT(text, HasSubstr("bytes = cache_sets * cache_lines * dim * element_size = "
                              "1048576 * 1 * 512 * 4 = 2147483648 of weights\n"));
  // Columns are as wide as the kinds there are ask for.
  EXPECT_THAT(text, testing::ContainsRegex("\nplain  +1,048,576  1,048,576  2.02 GiB\n"));
  EXPECT_THAT(text, testing::ContainsRegex(
                        "\nhashed  +buckets=1048576  +unbounded  1,048,576  2.02 GiB\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("on one of"))) << "one shard";
}

// ---- The verb -----------------------------------------------------------------------------------

std::string Printed(const Settings& settings, const PlanRequest& request) {
  testing::internal::CaptureStdout();
  const Status status = RunPlan(settings, request);
  const std::string printed = testing::internal::GetCapturedStdout();
  EXPECT_OK(status);
  return printed;
}

TEST(PlanVerb, PrintsOneFormOrTheOther) {
  Settings settings = Model({Table("t", 10, 2)}, 2);
  settings.storage.cache_mb = 3;
  const NodePlan nodes = MakeNodePlan(settings).value();
  EXPECT_EQ(Printed(settings, {.wants_sizes = true}),
            FiguresAsText(SizeFigures(settings, 3 << 20)) + "\n" + NodePlanText(nodes));
  SizePlanJson json = SizeFigures(settings, 5 << 20).json;
  json["ps_nodes"] = NodePlanToJson(nodes);
  EXPECT_EQ(
      SizePlanJson::parse(Printed(settings, {.wants_sizes = true, .json = "-", .memory_mb = "5"})),
      json);
}

TEST(PlanVerb, RefusesWhatItCannotDo) {
  const auto refusal = [](const PlanRequest& request) {
    const Status status = RunPlan(Model({Table("t", 10, 2)}, 2), request);
    EXPECT_EQ(status.exit_code(), 2);
    return status.message();
  };
  EXPECT_THAT(refusal({.json = "-"}), HasSubstr("--sizes, to print the bytes of every table"));
  EXPECT_THAT(refusal({.wants_sizes = true, .wants_plan = true, .out = "x"}),
              HasSubstr("--sizes and --out ask for different things"));
  EXPECT_THAT(refusal({.wants_counts = true, .wants_plan = true, .has_strategy = true}),
              HasSubstr("--count_ids and --strategy"));
  EXPECT_THAT(refusal({.max_samples = 5}), HasSubstr("--max_samples=5 is for counting"));
  EXPECT_THAT(refusal({.wants_plan = true, .measured = "absent"}),
              HasSubstr("--measured=absent: holds no saved model"));
  for (const std::string given : {"0", "-1", "many", "16777217"}) {
    EXPECT_EQ(refusal({.wants_sizes = true, .memory_mb = given}),
              "--memory_mb=" + given +
                  ": expected a whole number from 1 to 16777216, or a size such as 4GB");
  }
}

}  // namespace
}  // namespace rowhouse
