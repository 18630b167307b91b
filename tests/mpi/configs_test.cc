// Every configuration trains: a few steps through the real binary, on tables cut down to a size a
// test can afford, with made-up data where a file would have to be given. And the comparison of
// table kinds that launch/experiments/compression.sh makes of some of them.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "launch/settings/yaml_config.h"
#include "tests/testing/process.h"

namespace rowhouse {
namespace {

const std::filesystem::path kConfigs = ROWHOUSE_SOURCE_DIR "/configs";
constexpr uint64_t kMaxRows = 500, kBatch = 32, kSteps = 3;

// From configs/ on, without extension: "compression/hashed_4".
std::vector<std::string> ConfigNames() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kConfigs)) {
    if (entry.path().extension() != ".yaml") continue;
    const auto path = std::filesystem::relative(entry.path(), kConfigs).replace_extension();
    names.push_back(path.string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Configs : public testing::TestWithParam<std::string> {};

TEST_P(Configs, Trains) {
  const std::string path = kConfigs / (GetParam() + ".yaml");
  Settings settings;
  const Status status = ReadYamlConfig(path, &settings);
  ASSERT_TRUE(status.ok()) << status.message();
  std::string rows;
  for (const LogicalTable& table : settings.tables) {
    rows += fmt::format("{}{}", rows.empty() ? "" : "-", std::min(table.rows, kMaxRows));
  }
  TrainRun run{.ranks = 2,
               .flags = {"--config=" + path, "--arch-embedding-size=" + rows,
                         fmt::format("--mini-batch-size={}", kBatch),
                         fmt::format("--num-batches={}", kSteps), "--cache_mb=16", "--nepochs=1",
                         "--print-freq=1"}};
  if (settings.data_generation == "dataset" || !settings.data.text.schema.format.empty()) {
    run.flags.insert(run.flags.end(), {"--data-generation=synthetic", "--data_size=96"});
  }
  if (!settings.data.held_out.split_index.empty()) {  // Of data that are read.
    run.flags.insert(run.flags.end(),
                     {"--split_index=", "--early_stop_patience=0", "--plateau_patience=0"});
  }
  run.flags.push_back("--synthetic_test_samples=100");  // Of no meaning to random data.
  const TrainResult result = Train(std::move(run));
  ASSERT_EQ(result.exit_code, 0) << result.Describe();
  EXPECT_EQ(result.report.at("totals").at("samples"), kBatch * kSteps);
  ASSERT_EQ(result.printed_losses.size(), kSteps) << result.Describe();
  for (const double loss : result.printed_losses) EXPECT_TRUE(loss > 0.0 && loss < 10.0) << loss;
  EXPECT_EQ(result.digest.size(), 32u);
}

INSTANTIATE_TEST_SUITE_P(All, Configs, testing::ValuesIn(ConfigNames()), [](const auto& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
});

TEST(Compression, TheScriptSetsARunOfEachConfigSideBySide) {
  const TempDir dir;
  const std::filesystem::path rowhouse = ROWHOUSE_BINARY;
  const ProcessResult result =
      RunCommand({.arguments = {ROWHOUSE_SOURCE_DIR "/launch/experiments/compression.sh", "--out",
                                dir / "out"},
                  .environment = {{"COMPRESSION_QUICK", "1"},
                                  {"PATH", rowhouse.parent_path().string() + ":" + getenv("PATH")}},
                  .time_limit = std::chrono::minutes(4)});
  ASSERT_EQ(result.exit_code, 0) << result.Describe();

  std::ifstream csv(dir / "out/compression.csv");
  std::set<std::string> runs;
  std::string line;
  ASSERT_TRUE(std::getline(csv, line));
  while (std::getline(csv, line)) {
    const std::string run = line.substr(0, line.find(','));
    EXPECT_TRUE(runs.insert(run).second) << line;
    // The table in the terminal has a line of each run, too.
    EXPECT_THAT(result.out, testing::ContainsRegex("\n" + run + " ")) << result.Describe();
  }
  std::set<std::string> configs;
  for (const std::string& name : ConfigNames()) {
    if (name.starts_with("compression/")) configs.insert(name.substr(name.find('/') + 1));
  }
  EXPECT_EQ(runs, configs);
  EXPECT_GE(runs.size(), 13u);

  const std::string html = FileText(dir / "out/compression.html");
  EXPECT_THAT(html, testing::HasSubstr("</html>"));
  EXPECT_THAT(html, testing::HasSubstr("mixed_16"));
  EXPECT_THAT(result.out, testing::HasSubstr("plain tables: "));
  EXPECT_THAT(result.out, testing::HasSubstr("a quarter of the bytes: "));
}

TEST(Compression, TheScriptRefusesWhatItDoesNotKnow) {
  const std::vector<std::vector<std::string>> kMistakes = {
      {"--repat", "2"}, {"--repeat"}, {"--repeat", "0"}};
  for (const std::vector<std::string>& arguments : kMistakes) {
    Command command{.arguments = {ROWHOUSE_SOURCE_DIR "/launch/experiments/compression.sh"}};
    command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
    const ProcessResult result = RunCommand(command);
    EXPECT_EQ(result.exit_code, 2) << result.Describe();
    EXPECT_THAT(result.err, testing::HasSubstr(arguments.front())) << result.Describe();
  }
}

}  // namespace
}  // namespace rowhouse
