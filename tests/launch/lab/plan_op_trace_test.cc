// plan --op_trace as an operator gives it: what it prints, and what it refuses.
#include <fstream>
#include <nlohmann/json.hpp>

#include "launch/command_line/plan_mode.h"
#include "tests/launch/given_settings.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

const std::string kTrace = std::string(ROWHOUSE_TEST_VECTORS) + "/op_trace_small.json";
const std::string kTable = std::string(ROWHOUSE_TEST_VECTORS) + "/op_trace_small.csv";

Status RunPlan(std::vector<std::string> flags) {
  std::vector<const char*> argv = {"rowhouse", "plan"};
  for (const std::string& flag : flags) argv.push_back(flag.c_str());
  ASSIGN_OR_RETURN(const CommandLine command_line,
                   ParseCommandLine(static_cast<int>(argv.size()), argv.data()));
  ASSIGN_OR_RETURN(const PlanMode* const mode, PlanModeOf(command_line));
  if (mode == nullptr) return OkStatus();
  return mode->run(command_line, Settings{});
}

TEST(PlanOpTraceTest, WritesTheSumWorkedByHand) {
  TempDir dir;
  ASSERT_OK(RunPlan({"--op_trace=" + kTrace, "--fc_table=" + kTable, "--kernel_prefix=volta",
                     "--json=" + (dir / "sum.json")}));
  std::ifstream file(dir / "sum.json");
  const auto sum = nlohmann::json::parse(file);
  EXPECT_EQ(sum["gpu"], "V100");
  EXPECT_EQ(sum["form"], "corrected");
  EXPECT_EQ(sum["iterations"], 2);
  EXPECT_NEAR(sum["us_per_iteration"].get<double>(), 39.764470, 1e-6);
  EXPECT_EQ(sum["without_rule"][0]["name"], "aten::relu");
  for (const auto& op : sum["ops"]) {
    EXPECT_EQ(op.value("us_each_of_later_model", 0.0) > 0, op["rule"] == "lookup") << op;
  }
}

TEST(PlanOpTraceTest, LinksAreCheckedAndProcessorsNeedThem) {
  const auto message = [](const char* flag) {
    const Status status = RunPlan({"--op_trace=" + kTrace, flag});
    EXPECT_EQ(status.code(), StatusCode::kUsage);
    return status.message();
  };
  EXPECT_THAT(message("--link_gbs=0"), testing::HasSubstr("expected GB/s from 0.001"));
  EXPECT_THAT(message("--gpus=8"), testing::HasSubstr("say --link_gbs=G as well"));
}

TEST(PlanOpTraceTest, APageShowsTheOperators) {
  TempDir dir;
  ASSERT_OK(RunPlan({"--op_trace=" + kTrace, "--html=" + (dir / "page.html")}));
  std::ifstream file(dir / "page.html");
  const std::string page(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(page, testing::HasSubstr("LookupFunctionBackward"));
}

TEST(PlanOpTraceTest, OriginalFormIsAnOption) {
  TempDir dir;
  ASSERT_OK(RunPlan({"--op_trace=" + kTrace, "--fc_table=" + kTable, "--kernel_prefix=volta",
                     "--original_form", "--json=" + (dir / "sum.json")}));
  std::ifstream file(dir / "sum.json");
  EXPECT_NEAR(nlohmann::json::parse(file)["us_per_iteration"].get<double>(), 30.556786, 1e-6);
}

TEST(PlanOpTraceTest, MistakesOfTheOperatorAreNamed) {
  const auto message = [](std::vector<std::string> flags) {
    const Status status = RunPlan(std::move(flags));
    EXPECT_EQ(status.exit_code(), 2);
    return status.message();
  };
  EXPECT_THAT(message({"--op_trace=/nowhere/t.json"}),
              testing::HasSubstr("--op_trace=/nowhere/t.json"));
  EXPECT_THAT(message({"--op_trace=" + kTable}),
              testing::HasSubstr("--op_trace=" + kTable + ":1:"));
  EXPECT_THAT(message({"--op_trace=" + kTrace, "--fc_table=" + kTrace}),
              testing::HasSubstr("--fc_table=" + kTrace + ":"));
  EXPECT_THAT(message({"--op_trace=" + kTrace, "--gpu=H100"}),
              testing::HasSubstr("known: A100, V100"));
  EXPECT_THAT(message({"--op_trace=" + kTrace, "--kernel_prefix=volta"}),
              testing::HasSubstr("--fc_table=CSV"));
  EXPECT_THAT(message({"--op_trace=" + kTrace, "--bag_length=0"}),
              testing::HasSubstr("--bag_length=0"));
  EXPECT_THAT(message({"--gpu=A100"}), testing::HasSubstr("say --op_trace=FILE as well"));
  EXPECT_THAT(message({"--fc_table=" + kTable, "--kernel_prefix=volta"}),
              testing::HasSubstr("--fc_table is for a profile's operators"));
}

}  // namespace
}  // namespace rowhouse
