// Every setting is read by somebody: the member that its entry names is used outside the entries. A
// flag that nobody reads says yes to the operator and does nothing.
//
// The proof is textual. A use is "owner.member" or "owner->member" that is not assigned to, in code
// (comments and strings are left out), where `owner` is a word that stands for the member's struct;
// or the bare member in a file that holds the struct's own functions.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "launch/settings/setting_fields.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

bool IsWordChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// `code` without comments and what is in quotes.
std::string WithoutTexts(const std::string& code) {
  std::string out;
  for (size_t i = 0; i < code.size(); ++i) {
    if (code.compare(i, 2, "//") == 0) {
      i = std::min(code.find('\n', i), code.size()) - 1;
    } else if (code[i] == '"') {
      for (++i; i < code.size() && code[i] != '"'; ++i) i += code[i] == '\\' ? 1 : 0;
    } else {
      out += code[i];
    }
  }
  return out;
}

// All "owner.member" that `code` reads; an owner's trailing _ and () are left out.
std::set<std::string> ReadsIn(const std::string& code) {
  std::set<std::string> reads;
  const std::string text = WithoutTexts(code);
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    const bool is_arrow = text.compare(i, 2, "->") == 0;
    if (text[i] != '.' && !is_arrow) continue;
    size_t end = i + (is_arrow ? 2 : 1);
    const size_t begin_of_member = end;
    while (end < text.size() && IsWordChar(text[end])) ++end;
    size_t end_of_owner = i;
    if (end_of_owner >= 2 && text.compare(end_of_owner - 2, 2, "()") == 0) end_of_owner -= 2;
    size_t begin = end_of_owner;
    while (begin > 0 && IsWordChar(text[begin - 1])) --begin;
    const size_t next = text.find_first_not_of(" \n", end);
    const bool is_written = next != std::string::npos && text[next] == '=' && text[next + 1] != '=';
    if (begin == end_of_owner || is_written) continue;
    std::string owner = text.substr(begin, end_of_owner - begin);
    while (owner.ends_with('_')) owner.pop_back();
    reads.insert(owner + "." + text.substr(begin_of_member, end - begin_of_member));
  }
  return reads;
}

std::set<std::string> WordsIn(const std::string& code) {
  std::set<std::string> words;
  std::string word;
  for (const char c : WithoutTexts(code) + " ") {
    if (IsWordChar(c)) {
      word += c;
    } else {
      words.insert(std::exchange(word, ""));
    }
  }
  return words;
}

// What stands for a struct of Settings in code that reads it.
struct Owner {
  std::string path;                // of Settings: "data" for data.seed
  std::vector<std::string> words;  // variables of that type
  std::string own_file = "";       // holds its own functions, which need no owner
};
const std::vector<Owner> kOwners = {
    {"", {"settings", "s"}, "launch/settings/settings.cc"},
    {"model", {"model", "spec", "options"}, "worker/dense/model_spec.cc"},
    {"table_defaults", {"table", "spec"}},
    {"compression", {"compression", "c"}},
    {"data", {"data", "options"}},
    {"data.held_out", {"held_out"}},
    {"data.text", {"text"}},
    {"training", {"training"}, "launch/settings/settings.cc"},
    {"storage", {"storage", "node", "options"}, "ps/shard/node_options.h"},
    {"cluster", {"cluster"}},
    {"sharding", {"sharding"}},
    {"sharding.options", {"options"}},
    {"output", {"output"}},
    {"server", {"server"}},
};

class SettingsAreRead : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::filesystem::path root = ROWHOUSE_SOURCE_DIR;
    for (const char* floor : {"common", "sharding", "ps", "worker", "launch"}) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(root / floor)) {
        const std::string path = std::filesystem::relative(entry.path(), root);
        const bool is_code = path.ends_with(".cc") || path.ends_with(".h");
        if (!is_code || path.starts_with("launch/settings/entries/")) continue;
        reads_.merge(ReadsIn(FileText(entry.path())));
      }
    }
  }

  static bool IsRead(const std::string& member) {
    const size_t dot = member.rfind('.');
    const std::string path = dot == std::string::npos ? "" : member.substr(0, dot);
    const std::string name = dot == std::string::npos ? member : member.substr(dot + 1);
    for (const Owner& owner : kOwners) {
      if (owner.path != path) continue;
      for (const std::string& word : owner.words) {
        if (reads_.contains(word + "." + name)) return true;
      }
      const std::string own = std::filesystem::path(ROWHOUSE_SOURCE_DIR) / owner.own_file;
      return !owner.own_file.empty() && WordsIn(FileText(own)).contains(name);
    }
    ADD_FAILURE() << "say in kOwners what stands for " << path;
    return false;
  }

  static inline std::set<std::string> reads_;
};

TEST_F(SettingsAreRead, EveryMemberThatAnEntryNamesIsUsed) {
  for (const SettingField& field : SettingFields()) {
    ASSERT_NE(field.member, "") << field.name;
    // Whether members of families use each option that they take, the families' contracts test.
    if (field.member.starts_with("training.optimizer_options.") || field.member.ends_with(']')) {
      continue;
    }
    EXPECT_TRUE(IsRead(field.member)) << field.name << ": nobody reads " << field.member;
  }
}

// Flags of earlier versions that nobody read.
TEST_F(SettingsAreRead, TheProofFindsWhatNobodyReads) {
  EXPECT_FALSE(IsRead("server.workers"));
  EXPECT_FALSE(IsRead("training.print_time"));
}

TEST_F(SettingsAreRead, WritesCommentsAndTextsAreNoUses) {
  EXPECT_EQ(ReadsIn("options_.a = 1; // options.b\nf(\"options.c\", options.d == 2, "
                    "node().e, p->f);"),
            (std::set<std::string>{"node.e", "options.d", "p.f"}));
}

}  // namespace
}  // namespace rowhouse
