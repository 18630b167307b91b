#include "launch/report/output_flags.h"

#include <fstream>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

CommandLine With(const std::string& verb, const std::string& flag, const std::string& value) {
  CommandLine command_line;
  command_line.verb = verb;
  command_line.flags.push_back({.name = flag, .value = value});
  return command_line;
}

TEST(OutputFlags, AFolderThatIsNotThereIsNotMade) {
  const TempDir dir;
  const std::string path = dir / "nope/x";
  for (const char* flag : {"json", "html", "csv"}) {
    const Status status = CheckOutputFlags(With("plan", flag, path));
    EXPECT_EQ(status.code(), StatusCode::kUsage);
    EXPECT_EQ(status.message(), std::string("--") + flag + "=" + path + ": there is no folder " +
                                    dir / "nope" + "; make it, or name another file");
  }
  EXPECT_EQ(CheckOutputFlags(With("compare", "out", path)).code(), StatusCode::kUsage);
  EXPECT_FALSE(std::filesystem::exists(dir / "nope"));
}

TEST(OutputFlags, WhatCanBeWrittenPasses) {
  const TempDir dir;
  EXPECT_OK(CheckOutputFlags(With("plan", "json", "-")));
  EXPECT_OK(CheckOutputFlags(With("plan", "html", dir / "x.html")));
  EXPECT_OK(CheckOutputFlags(With("plan", "json", "/dev/stdout")));
  EXPECT_OK(CheckOutputFlags(With("data", "out", dir / "nope/x"))) << "it makes its folders";
}

TEST(OutputFlags, NoVerbWritesIntoAModel) {
  const TempDir dir;
  for (const char* file : {"manifest.json", "config.yaml"}) std::ofstream(dir / file) << "x";
  for (const char* verb : {"predict", "plan", "data", "ckpt", "compare"}) {
    const Status status = CheckOutputFlags(With(verb, "out", dir / "manifest.json"));
    EXPECT_EQ(status.code(), StatusCode::kUsage) << verb;
    EXPECT_THAT(status.message(), testing::StartsWith("--out=" + dir / "manifest.json"));
  }
  EXPECT_FALSE(CheckOutputFlags(With("ckpt", "json", dir / "x.json")).ok());
}

}  // namespace
}  // namespace rowhouse
