// launch/experiments/beyond_memory.sh, scaled down: two PS nodes in memory cgroups train tables of
// 10^10 ids to the bits of PS nodes without a limit.
#include <filesystem>

#include "tests/testing/process.h"

namespace rowhouse {
namespace {

TEST(BeyondMemory, TablesOf10To10IdsTrainTheSameRowsInALittleMemory) {
  const TempDir dir;
  const ProcessResult result = RunCommand(
      {.arguments = {ROWHOUSE_SOURCE_DIR "/launch/experiments/beyond_memory.sh", "--limit", "192",
                     "--samples", "300000", "--out", dir / "out"},
       .environment = {{"PATH", std::filesystem::path(ROWHOUSE_BINARY).parent_path().string() +
                                    ":" + getenv("PATH")}},
       .time_limit = std::chrono::minutes(4)});
  if (result.exit_code == 77) GTEST_SKIP() << result.err;
  ASSERT_EQ(result.exit_code, 0) << result.Describe();
  EXPECT_THAT(result.out, testing::HasSubstr("the same rows with and without the limit"));
  EXPECT_THAT(result.out,
              testing::ContainsRegex("PS node 1: peak memory [0-9]+ MB, disk [0-9]+ MB"));
  EXPECT_TRUE(std::filesystem::is_empty(dir / "out/rows")) << "rows are freed at the end";
}

TEST(BeyondMemory, MistakesAreToldWithExitCode2) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"--limit", "12"}, {"--limit"}, {"--samples", "many"}, {"--wat"}}) {
    Command command{.arguments = {ROWHOUSE_SOURCE_DIR "/launch/experiments/beyond_memory.sh"}};
    command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
    const ProcessResult result = RunCommand(command);
    EXPECT_EQ(result.exit_code, 2) << result.Describe();
    EXPECT_THAT(result.err, testing::HasSubstr("beyond_memory.sh --help"));
  }
}

}  // namespace
}  // namespace rowhouse
