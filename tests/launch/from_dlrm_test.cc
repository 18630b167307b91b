// docs/from_dlrm.md and the command line say the same of every flag of DLRM.
#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "common/durable_file.h"
#include "launch/command_line/foreign_flags.h"
#include "launch/command_line/verb_flags.h"
#include "launch/settings/setting_fields.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

constexpr size_t kFlagsOfDlrm = 76;  // add_argument() of dlrm_s_pytorch.py

std::string Canonical(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// "num_workers" -> "ignored", of the table under "Every flag".
std::map<std::string, std::string> WordsOnThePage(const std::string& page) {
  std::map<std::string, std::string> words;
  const std::string table = page.substr(page.find("## Every flag"));
  const std::regex line("\\| `--([a-z_-]+)` \\| ([a-z]+) \\|");
  for (std::sregex_iterator at(table.begin(), table.end(), line), end; at != end; ++at) {
    EXPECT_TRUE(words.emplace(Canonical((*at)[1]), (*at)[2]).second) << (*at)[1] << " stands twice";
  }
  return words;
}

TEST(FromDlrm, ThePageSaysOfEachFlagWhatBecomesOfIt) {
  const std::string page = ReadFile(ROWHOUSE_SOURCE_DIR "/docs/from_dlrm.md").value();
  const std::map<std::string, std::string> words = WordsOnThePage(page);
  EXPECT_EQ(words.size(), kFlagsOfDlrm);
  for (const auto& [name, word] : words) {
    const DlrmFlag* dlrms = FindDlrmFlag(name);
    if (word == "taken") {
      EXPECT_NE(FindSettingField(name), nullptr) << name;
      EXPECT_TRUE(VerbHasFlag("train", FindSettingField(name)->name)) << name;
      EXPECT_EQ(dlrms, nullptr) << name;
      continue;
    }
    ASSERT_NE(dlrms, nullptr) << name;
    if (name == kInferenceOnlyFlag || !dlrms->of_eval.empty()) {
      EXPECT_EQ(word, "eval") << name;
      continue;
    }
    EXPECT_EQ(word, dlrms->why_refused.empty() ? "ignored" : "refused") << name;
  }
  for (const DlrmFlag& flag : DlrmFlags())
    EXPECT_TRUE(words.contains(std::string(flag.name))) << flag.name;
}

TEST(FromDlrm, EveryFlagThePageNamesExists) {
  const std::string page = ReadFile(ROWHOUSE_SOURCE_DIR "/docs/from_dlrm.md").value();
  const std::regex flag("--([a-z_-]*[a-z])");
  for (std::sregex_iterator at(page.begin(), page.end(), flag), end; at != end; ++at) {
    EXPECT_TRUE(IsKnownFlag(Canonical((*at)[1]))) << (*at)[0];
  }
}

}  // namespace
}  // namespace rowhouse
