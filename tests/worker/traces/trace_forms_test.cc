#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/testing/testing.h"
#include "worker/data/traces/trace_reader.h"

namespace rowhouse {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kTinyTorch = ROWHOUSE_TEST_VECTORS "/dlrm_datasets_tiny.pt";
const std::string kTinyOldTorch = ROWHOUSE_TEST_VECTORS "/dlrm_datasets_tiny_old.pt";

std::unique_ptr<TraceReader> OpenText(const TempDir& dir, const std::string& text) {
  std::ofstream(dir / "t") << text;
  auto trace = OpenTrace(dir / "t");
  EXPECT_OK(trace);
  return std::move(trace).value();
}

std::string ErrorOfText(const std::string& text) {
  const TempDir dir;
  std::ofstream(dir / "t") << text;
  const auto trace = OpenTrace(dir / "t");
  EXPECT_EQ(trace.status().code(), StatusCode::kUsage);
  const std::string& message = trace.status().message();
  return message.substr(message.find("/t:") == std::string::npos ? 0 : message.find("/t:") + 2);
}

TEST(TextTrace, WithoutEmptyLinesEachTableHasAnIdASample) {
  const TempDir dir;
  const auto trace = OpenText(dir, "# a remark\nusers 5\nitems\t70000\nusers,6\r\nusers 7\n");
  EXPECT_STREQ(trace->form(), "text");
  EXPECT_EQ(trace->tables()[0].name, "users");
  EXPECT_EQ(trace->tables()[1].name, "items");
  std::vector<Bags> features;
  ASSERT_EQ(trace->Read(2, &features).value(), 2u);
  EXPECT_THAT(features[0].ids, ElementsAre(5, 6));
  EXPECT_THAT(features[1].offsets, ElementsAre(0, 1, 1));
  ASSERT_EQ(trace->Read(2, &features).value(), 1u);
  EXPECT_THAT(features[0].ids, ElementsAre(7));
  EXPECT_THAT(features[1].offsets, ElementsAre(0, 0));
  EXPECT_EQ(trace->Read(2, &features).value(), 0u);
}

TEST(TextTrace, EmptyLinesEndSamples) {
  const TempDir dir;
  const auto trace = OpenText(dir, "a 1\na 2\n\na 3\nb 4\n\nb 5\n");
  std::vector<Bags> features;
  ASSERT_EQ(trace->Read(10, &features).value(), 3u);
  EXPECT_THAT(features[0].ids, ElementsAre(1, 2, 3));
  EXPECT_THAT(features[0].offsets, ElementsAre(0, 2, 3, 3));
  EXPECT_THAT(features[1].offsets, ElementsAre(0, 0, 1, 2));
}

TEST(TextTrace, AnEmptyLineAtTheEndEndsTheOnlySample) {
  const TempDir dir;
  const auto trace = OpenText(dir, "a 1\na 2\nb 3\n\n\n");
  std::vector<Bags> features;
  ASSERT_EQ(trace->Read(10, &features).value(), 1u);
  EXPECT_THAT(features[0].ids, ElementsAre(1, 2));
  EXPECT_THAT(features[1].ids, ElementsAre(3));
}

TEST(TextTrace, IdsAloneAreOfOneTable) {
  const TempDir dir;
  const auto trace = OpenText(dir, "42932745\n42932746\n42932745");
  std::vector<Bags> features;
  ASSERT_EQ(trace->Read(10, &features).value(), 3u);
  EXPECT_EQ(trace->tables()[0].name, "0");
  EXPECT_THAT(features[0].ids, ElementsAre(42932745, 42932746, 42932745));
}

TEST(TextTrace, RemarksMayFollowALookup) {
  const TempDir dir;
  const auto trace =
      OpenText(dir, "# two samples\r\na 1 # the first\r\n\r\n  # not a field\na 2 #\n");
  std::vector<Bags> features;
  ASSERT_EQ(trace->Read(10, &features).value(), 2u);
  EXPECT_THAT(features[0].ids, ElementsAre(1, 2));
}

TEST(TextTrace, APipeIsRefusedForItIsReadTwice) {
  const TempDir dir;
  ASSERT_EQ(mkfifo((dir / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(OpenTrace(dir / "pipe").status().message(), HasSubstr("is a pipe; a trace is read"));
}

TEST(TextTrace, MistakesAreNamedByLineAndColumn) {
  EXPECT_THAT(ErrorOfText("a 1\nb x\n"), HasSubstr(":2:3: the id is \"x\""));
  EXPECT_THAT(ErrorOfText("a 1 2\n"), HasSubstr(":1:5: the third field"));
  EXPECT_THAT(ErrorOfText("a 1\n7\n"), HasSubstr(":2: has 1 fields"));
  EXPECT_THAT(ErrorOfText("a -1\n"), HasSubstr("the id is \"-1\""));
  EXPECT_THAT(ErrorOfText("a 9223372036854775808\n"),
              HasSubstr(":1:3: the id is \"9223372036854775808\"; ids are whole numbers from 0 to "
                        "2^63 - 1"));
  EXPECT_THAT(ErrorOfText("# nothing\n\n"), HasSubstr("has no lookups"));
}

TEST(TextTrace, MayBeCompressed) {
  const TempDir dir;
  std::ofstream(dir / "t") << "a 1\na 2\n";
  ASSERT_EQ(std::system(("gzip " + (dir / "t")).c_str()), 0);
  std::filesystem::rename(dir / "t.gz", dir / "x");
  const auto trace = OpenTrace(dir / "x");
  ASSERT_OK(trace);
  std::vector<Bags> features;
  EXPECT_EQ(trace.value()->Read(10, &features).value(), 2u);
}

TEST(OpenTrace, AFileOfTorchIsRefusedWithTheProgramThatReadsIt) {
  for (const std::string& path : {kTinyTorch, kTinyOldTorch}) {
    const auto trace = OpenTrace(path);
    EXPECT_EQ(trace.status().code(), StatusCode::kUsage);
    EXPECT_THAT(trace.status().message(), HasSubstr("\"Files of torch\" in docs/traces.md"));
  }
  const TempDir dir;
  ASSERT_EQ(std::system(("gzip -c " + kTinyTorch + " > " + (dir / "ids")).c_str()), 0);
  EXPECT_THAT(OpenTrace(dir / "ids").status().message(), HasSubstr("is a file of torch.save"));
}

}  // namespace
}  // namespace rowhouse
