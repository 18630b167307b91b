#include "worker/data/line_reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

class LineReaderTest : public testing::Test {
 protected:
  std::string Write(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    return path_;
  }
  std::vector<std::string> Read(const std::string& text) {
    LineReader reader = LineReader::Open(Write(text)).value();
    std::vector<std::string> lines;
    std::string_view line;
    while (reader.Next(&line).value()) lines.emplace_back(line);
    EXPECT_EQ(reader.line_number(), lines.size());
    return lines;
  }

  TempDir dir_;
  const std::string path_ = dir_ / "text";
};

using Lines = std::vector<std::string>;

TEST_F(LineReaderTest, LinesEndWithLfOrCrLfAndTheLastWithNothing) {
  EXPECT_EQ(Read("a\nb\r\n\nc"), (Lines{"a", "b", "", "c"}));
  EXPECT_EQ(Read("a\n"), Lines{"a"});
  EXPECT_EQ(Read("a\r"), Lines{"a"});
  EXPECT_EQ(Read("\n"), Lines{""});
  EXPECT_EQ(Read(""), Lines{});
}

TEST_F(LineReaderTest, ACarriageReturnInsideALineStays) {
  EXPECT_EQ(Read("a\rb\r\r\n"), Lines{"a\rb\r"});
}

TEST_F(LineReaderTest, LinesOnTheBorderOfTheBufferAreWhole) {
  std::string text;
  Lines lines;
  for (int i = 0; i < 5; ++i) {
    lines.push_back(std::string(LineReader::kMaxLineBytes - static_cast<size_t>(i), 'x'));
    text += lines.back() + "\n";
  }
  EXPECT_EQ(Read(text), lines);
}

TEST_F(LineReaderTest, ALineBeyondTheBoundIsRefusedWithItsNumber) {
  LineReader reader =
      LineReader::Open(Write("a\n" + std::string(LineReader::kMaxLineBytes + 9, 'x'))).value();
  std::string_view line;
  ASSERT_TRUE(reader.Next(&line).value());
  const Result<bool> next = reader.Next(&line);
  ASSERT_FALSE(next.ok());
  EXPECT_EQ(next.status().code(), StatusCode::kUsage);
  EXPECT_THAT(next.status().message(), testing::HasSubstr(path_ + ":2: the line is longer"));
}

void ExpectNotOpened(const std::string& path, const std::string& why) {
  const auto reader = LineReader::Open(path);
  ASSERT_FALSE(reader.ok());
  EXPECT_EQ(reader.status().code(), StatusCode::kUsage);
  EXPECT_THAT(reader.status().message(), testing::HasSubstr(path));
  EXPECT_THAT(reader.status().message(), testing::HasSubstr(why));
}

TEST_F(LineReaderTest, AMissingFileOrADirectoryIsAUsageErrorThatSaysSo) {
  ExpectNotOpened(dir_ / "missing", "No such file");
  ExpectNotOpened(dir_.path(), "is a directory");
}

TEST_F(LineReaderTest, AForbiddenFileIsAUsageErrorThatSaysSo) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read every file";
  Write("a");
  ASSERT_EQ(chmod(path_.c_str(), 0), 0);
  ExpectNotOpened(path_, "Permission denied");
}

}  // namespace
}  // namespace rowhouse
