#include "launch/command_line/output_flags.h"

#include <fstream>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

CommandLine WithFlag(const std::string& verb, const std::string& flag, const std::string& value) {
  CommandLine command_line;
  command_line.verb = verb;
  command_line.flags.push_back({.name = flag, .value = value});
  return command_line;
}

TEST(OutputFlags, AFolderThatIsNotThereIsNotMade) {
  const TempDir dir;
  const std::string path = dir / "nope/x";
  for (const char* flag : {"json", "html", "csv"}) {
    const Status status = CheckOutputFlags(WithFlag("plan", flag, path));
    EXPECT_EQ(status.code(), StatusCode::kUsage);
    EXPECT_EQ(status.message(), std::string("--") + flag + "=" + path + ": there is no folder " +
                                    dir / "nope" + "; make it, or name another file");
  }
  EXPECT_EQ(CheckOutputFlags(WithFlag("compare", "out", path)).code(), StatusCode::kUsage);
  EXPECT_FALSE(std::filesystem::exists(dir / "nope"));
}

TEST(OutputFlags, WhatCanBeWrittenPasses) {
  const TempDir dir;
  EXPECT_OK(CheckOutputFlags(WithFlag("plan", "json", "-")));
  EXPECT_OK(CheckOutputFlags(WithFlag("plan", "html", dir / "x.html")));
  EXPECT_OK(CheckOutputFlags(WithFlag("plan", "json", "/dev/stdout")));
  EXPECT_OK(CheckOutputFlags(WithFlag("data", "out", dir / "nope/x"))) << "it makes its folders";
}

TEST(OutputFlags, NoVerbWritesIntoAModel) {
  const TempDir dir;
  for (const char* file : {"manifest.json", "config.yaml"}) std::ofstream(dir / file) << "x";
  for (const char* verb : {"predict", "plan", "data", "ckpt", "compare"}) {
    const Status status = CheckOutputFlags(WithFlag(verb, "out", dir / "manifest.json"));
    EXPECT_EQ(status.code(), StatusCode::kUsage) << verb;
    EXPECT_THAT(status.message(), testing::StartsWith("--out=" + dir / "manifest.json"));
  }
  EXPECT_FALSE(CheckOutputFlags(WithFlag("ckpt", "json", dir / "x.json")).ok());
}

TEST(OutputFlags, AnOutputIsNoFileThatIsRead) {
  const TempDir dir;
  const std::string file = dir / "x.csv", link = dir / "link", free = dir / "free";
  for (const std::string& one : {file, free}) std::ofstream(one) << "x";
  std::filesystem::create_symlink(file, link);
  const auto refused = [&](const CommandLine& command_line, const Settings& settings = {}) {
    const Status status = CheckOutputsAreNoInputs(command_line, settings);
    EXPECT_TRUE(status.ok() || status.code() == StatusCode::kUsage);
    return std::string(status.message());
  };
  for (const char* input : {"config", "data", "test_data", "plan", "measured"}) {
    for (const char* output : {"json", "html", "csv", "out", "report", "record_ids"}) {
      CommandLine command_line = WithFlag("train", output, link);
      command_line.flags.push_back({.name = input, .value = free + "," + file});
      EXPECT_EQ(refused(command_line), fmt::format("--{}={} would replace a file that is read "
                                                   "(--{}); name another",
                                                   output, link, input));
      command_line.flags[0].value = dir / "new";
      EXPECT_EQ(refused(command_line), "");
    }
  }
  CommandLine infer = WithFlag("data", "out", file);
  infer.arguments = {"infer", file};
  EXPECT_THAT(refused(infer), testing::HasSubstr("would replace"));
  CommandLine of_file = WithFlag("train", "report", file);
  of_file.flags[0].origin = file + ":1";
  EXPECT_THAT(refused(of_file), testing::HasSubstr("(--flagfile)"));
  Settings settings;  // of a config
  settings.data.file = dir / "*.csv";
  EXPECT_THAT(refused(WithFlag("eval", "json", file), settings), testing::HasSubstr("(--data)"));
  EXPECT_EQ(refused(WithFlag("eval", "json", free), settings), "");
}

}  // namespace
}  // namespace rowhouse
