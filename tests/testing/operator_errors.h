// OperatorErrors: runs the binary among files that are wrong in some way, and expects exit code 2
// and exactly one message.
#pragma once

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/testing/left_behind.h"
#include "tests/testing/process.h"

namespace rowhouse {

// 20 good lines, of which one may be replaced.
inline void WriteCriteo(const std::string& path, int bad_line = 0,
                        const std::string& replacement = "") {
  std::ofstream out(path);
  for (int line = 1; line <= 20; ++line) {
    if (line == bad_line) {
      out << replacement << "\n";
      continue;
    }
    out << line % 2;
    for (int i = 0; i < 13; ++i) out << "\t" << line + i;
    for (int i = 0; i < 26; ++i) out << fmt::format("\t{:08x}", line * 26 + i);
    out << "\n";
  }
}

// A good line but for field I3.
inline std::string LineWithABadInteger() {
  std::string line = "1\t1\t2\tx3";
  for (int i = 3; i < 13; ++i) line += "\t1";
  for (int i = 0; i < 26; ++i) line += "\t0000000a";
  return line;
}

class OperatorErrors : public testing::Test {
 protected:
  void SetUp() override {
    WriteCriteo(dir_ / "bad_integer.tsv", 7, LineWithABadInteger());
    WriteCriteo(dir_ / "short_line.tsv", 3, "1\t2\t3");
    WriteCriteo(dir_ / "good.tsv");
    std::ofstream(dir_ / "empty.tsv");
    std::ofstream(dir_ / "a_file") << "in the place of a directory\n";
    std::ofstream(dir_ / "typo.yaml") << "model:\n  arch_mlp_bott: [4, 3, 2]\n";
    std::ofstream(dir_ / "criteo.tsv")
        << "0" << std::string(13, '\t') << std::string(26, '\t') << "\n";
    std::ofstream(dir_ / "value.yaml") << "training:\n  mini_batch_size: many\n";
    std::ofstream(dir_ / "syntax.yaml") << "model: [\n";
    std::ofstream(dir_ / "typo.flags") << "--mini_batch_size=2\n--lerning_rate=0.1\n";
    std::filesystem::create_directories(dir_ / "foreign/shard-0000");
    std::ofstream(dir_ / "foreign/shard-0000/thesis.txt") << "not ours\n";
    std::filesystem::create_directories(dir_ / "tmp");
  }

  // `rowhouse ARGUMENTS` in dir_; `before`: mpirun and its flags.
  Command CommandOf(const std::vector<std::string>& arguments,
                    const std::vector<std::string>& before = {}) {
    Command command{.arguments = before, .directory = dir_.path()};
    command.arguments.push_back(ROWHOUSE_BINARY);
    command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
    command.environment["TMPDIR"] = dir_ / "tmp";
    return command;
  }

  static std::vector<std::string> Mpirun(uint32_t ranks) {
    return {ROWHOUSE_SOURCE_DIR "/tests/mpi/mpirun.sh", "-n", std::to_string(ranks)};
  }

  // "rowhouse: ..." lines of stderr; mpirun adds lines of its own.
  static std::vector<std::string> Messages(const ProcessResult& result) {
    std::vector<std::string> messages;
    std::istringstream lines(result.err);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("rowhouse")) messages.push_back(line);
    }
    return messages;
  }

  void ExpectRefused(const ProcessResult& result, const std::vector<std::string>& words) {
    ExpectMessage(result, words);
    EXPECT_EQ(LeftBehind(dir_ / "tmp", std::chrono::milliseconds(5000)), "");
  }

  static void ExpectMessage(const ProcessResult& result, const std::vector<std::string>& words) {
    EXPECT_EQ(result.exit_code, 2) << result.Describe();
    const std::vector<std::string> messages = Messages(result);
    ASSERT_EQ(messages.size(), 1u) << result.Describe();
    EXPECT_TRUE(messages[0].starts_with("rowhouse: "));
    for (const std::string& word : words) EXPECT_THAT(messages[0], testing::HasSubstr(word));
    EXPECT_THAT(result.out, testing::Not(testing::HasSubstr("Finished training")));
  }

  TempDir dir_;
};

}  // namespace rowhouse
