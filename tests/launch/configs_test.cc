// The files in configs/: each says what its settings are, with defaults that are true, and makes
// a model; those of configs/compression differ in their tables only. tests/mpi/configs_test.cc
// trains them.
#include <filesystem>
#include <fstream>
#include <regex>

#include "launch/settings/setting_fields.h"
#include "launch/settings/yaml_config.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

const std::filesystem::path kConfigs = ROWHOUSE_SOURCE_DIR "/configs";

std::vector<std::string> ConfigFilesIn(const std::string& extension) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kConfigs)) {
    if (entry.path().extension() == extension) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> LinesOf(const std::string& file) {
  std::vector<std::string> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

Settings Load(const std::string& file) {
  Settings settings;
  const Status status = ReadYamlConfig(file, &settings);
  EXPECT_TRUE(status.ok()) << status.message();
  // No reader opens its file here; the data need not be there.
  const bool reads =
      settings.data_generation == "dataset" || !settings.data.text.schema.format.empty();
  if (reads) settings.data.file = "train.txt";
  settings.Complete();
  return settings;
}

bool IsComment(const std::string& line) { return std::regex_search(line, std::regex("^ *#")); }

TEST(Configs, EveryLineSaysWhatItIsAndTheDefault) {
  const std::regex section("^ *[a-z_]+:$"), described("#[^#]*[a-z][^#]*\\([^()]+\\)"),
      listed("^ *(- \\{|rows: \\[|names: \\[)");
  for (const std::string& file : ConfigFilesIn(".yaml")) {
    const std::vector<std::string> lines = LinesOf(file);
    ASSERT_FALSE(lines.empty()) << file;
    EXPECT_TRUE(IsComment(lines.front())) << file << " does not begin with what it is for";
    std::string before;  // the last line that is no entry of a list
    for (size_t i = 0; i < lines.size(); ++i) {
      const std::string& line = lines[i];
      SCOPED_TRACE(fmt::format("{}:{}: {}", file, i + 1, line));
      if (std::regex_search(line, listed)) {
        // What entries are stands above the list, or behind its key.
        EXPECT_THAT(before, testing::HasSubstr("#"));
        if (line.find("- {") == std::string::npos) before.clear();
        continue;
      }
      if (std::regex_search(line, std::regex("^ *(list|dense|categorical):"))) {
        if (line.find('#') != std::string::npos) before = line;
        continue;
      }
      before = line;
      if (line.empty() || IsComment(line) || std::regex_match(line, section)) continue;
      EXPECT_TRUE(std::regex_search(line, described)) << "no `# what it is (default): why`";
    }
  }
  for (const std::string& file : ConfigFilesIn(".flags")) {
    std::string before;
    for (const std::string& line : LinesOf(file)) {
      if (line.starts_with("--")) {
        EXPECT_TRUE(std::regex_search(before, described)) << file << ": " << line;
      }
      before = line;
    }
  }
}

// The first word in brackets behind a setting is its default; settings without one say in words
// what happens.
TEST(Configs, TheDefaultsTheyNameAreTheDefaults) {
  const std::regex entry("^  ([a-z0-9_]+): +([^#]*[^# ]) +#[^(]*\\(([^),\\]]+)");
  const Settings defaults;
  size_t checked = 0;
  for (const std::string& file : ConfigFilesIn(".yaml")) {
    bool is_schema = false;  // whose keys are no settings; tests/launch/yaml_schema_test.cc
    for (const std::string& line : LinesOf(file)) {
      if (!line.empty() && line[0] != ' ') is_schema = line == "schema:";
      std::smatch match;
      if (is_schema || !std::regex_search(line, match, entry)) continue;
      const SettingField* field = FindSettingField(match.str(1));
      ASSERT_NE(field, nullptr) << file << ": " << line;
      Settings named;
      if (field->get(defaults).empty()) continue;
      const Status status = field->set(match.str(3), named);
      if (!status.ok()) {
        ADD_FAILURE() << file << ": " << line << "\n" << status.message();
        continue;
      }
      EXPECT_EQ(field->get(named), field->get(defaults)) << file << ": " << line;
      ++checked;
    }
  }
  EXPECT_GT(checked, 100u);
}

TEST(Configs, EachMakesAModel) {
  for (const std::string& file : ConfigFilesIn(".yaml")) {
    const Status status = Load(file).Validate();
    EXPECT_TRUE(status.ok()) << file << ": " << status.message();
  }
}

uint64_t WeightsOfRows(const Settings& settings) {
  uint64_t weights = 0;
  for (const TableSpec& table : settings.embedding.physical) weights += table.rows * table.dim;
  return weights;
}

TEST(Configs, MicroDlrmHasTheWeightsOfTheOriginal) {
  // MLPs of 16-8-8 and 32-32-16-1, with biases.
  constexpr uint64_t kSmallDense = 17 * 8 + 9 * 8 + 33 * 32 + 33 * 16 + 17;
  EXPECT_EQ(WeightsOfRows(Load(kConfigs / "micro_dlrm.yaml")) + kSmallDense, 22977u);
  constexpr uint64_t kDense = 17 * 8 + 9 * 8 + (8 + 3 * 256 + 1) * 32 + 33 * 16 + 17;
  EXPECT_EQ(WeightsOfRows(Load(kConfigs / "micro_dlrm_dram.yaml")) + kDense, 512025617u);
}

TEST(Configs, TheCompressionSetDiffersInItsTablesAndRatesOnly) {
  const Settings plain = Load(kConfigs / "compression/plain.yaml");
  size_t compressed = 0;
  for (const std::string& file : ConfigFilesIn(".yaml")) {
    if (file.find("/compression/") == std::string::npos) continue;
    SCOPED_TRACE(file);
    const Settings settings = Load(file);
    for (const SettingField& field : SettingFields()) {
      if (field.name == "learning_rate") continue;
      EXPECT_EQ(field.get(settings), field.get(plain)) << field.name;
    }
    const std::string name = std::filesystem::path(file).stem();
    if (name == "plain") continue;
    // What the name promises; tables of two parts have a few rows more.
    const uint64_t part = name.ends_with("_16") ? 16 : 4;
    const uint64_t asked = WeightsOfRows(plain) / part;
    EXPECT_LE(WeightsOfRows(settings), asked + asked / 50);
    EXPECT_GE(WeightsOfRows(settings), asked - asked / 20);
    ++compressed;
  }
  EXPECT_EQ(compressed, 12u);
}

}  // namespace
}  // namespace rowhouse
