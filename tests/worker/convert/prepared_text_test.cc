#include "worker/data/convert/prepared_text.h"

#include <sys/file.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/testing/testing.h"
#include "worker/data/blocks/data_directory.h"

namespace rowhouse {
namespace {

namespace fs = std::filesystem;

class PreparedTextTest : public testing::Test {
 protected:
  PreparedTextTest() {
    setenv("TMPDIR", (dir_ / "tmp").c_str(), 1);
    fs::create_directory(dir_ / "tmp");
    Write("day1.csv", "a,5");
    options_.file = dir_ / "day1.csv";
    options_.shape.table_names = {"user"};
    options_.shape.table_rows = {10};
    options_.shape.dense_features = 1;
    options_.text.schema.format = "delimited";
    options_.text.schema.label.column = "label";
    options_.text.schema.dense = {{.name = "x", .transform = "standardise"}};
    options_.text.schema.categorical = {
        {.name = "user", .ids = "dictionary", .rows = 10, .rare_row = true}};
  }
  ~PreparedTextTest() override { unsetenv("TMPDIR"); }

  void Write(const std::string& name, const std::string& last) {
    std::ofstream(dir_ / name) << "user,x,label\nu1,1,0\nu2,2,1\n" << last << ",1\n";
  }
  size_t FilesIn(const std::string& name) const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(dir_ / name), fs::directory_iterator()));
  }

  TempDir dir_;
  DatasetOptions options_;
};

TEST_F(PreparedTextTest, ATemporaryDirectoryGoesWithItsObject) {
  auto text = PreparedText::Make("delimited", options_).value();
  EXPECT_EQ(DataDirectory::Open(text->directory()).value()->samples(), 3u);
  EXPECT_EQ(text->test_directory(), "");
  text->DropSamples();
  EXPECT_FALSE(fs::exists(text->directory() + "/samples.bin"));
  EXPECT_TRUE(Preprocessing::IsIn(text->directory())) << "saves link it";
  EXPECT_EQ(FilesIn("tmp"), 1u);
  text.reset();
  EXPECT_EQ(FilesIn("tmp"), 0u);
}

TEST_F(PreparedTextTest, WhatAKilledProcessLeftIsRemovedAndNothingThatIsInUse) {
  const auto used = PreparedText::Make("delimited", options_).value();
  // A copy has the mark and no owner, as the directory of a killed process.
  const std::string killed = dir_ / "tmp/rowhouse-data-killed";
  fs::copy(fs::path(used->directory()).parent_path(), killed, fs::copy_options::recursive);
  fs::create_directories(dir_ / "tmp/rowhouse-data-mine");
  std::ofstream(dir_ / "tmp/rowhouse-data-mine/notes.txt") << "precious";
  const auto text = PreparedText::Make("delimited", options_).value();
  EXPECT_FALSE(fs::exists(killed));
  EXPECT_TRUE(fs::exists(dir_ / "tmp/rowhouse-data-mine/notes.txt")) << "a user's";
  EXPECT_TRUE(DataDirectory::IsAt(used->directory()));
  EXPECT_TRUE(DataDirectory::IsAt(text->directory()));
  EXPECT_EQ(FilesIn("tmp"), 3u);
}

TEST_F(PreparedTextTest, TestFilesAreMappedAsTheOthersAre) {
  Write("test.csv", "new,3");
  options_.held_out.test_file = dir_ / "test.csv";
  const auto text = PreparedText::Make("delimited", options_).value();
  const auto train = DataDirectory::Open(text->directory()).value();
  const auto test = DataDirectory::Open(text->test_directory()).value();
  EXPECT_EQ(test->samples(), 3u);
  EXPECT_EQ(test->preprocessing_digest(), train->preprocessing_digest());
  // A data directory is taken as it is.
  options_.held_out.test_file = text->test_directory();
  EXPECT_EQ(PreparedText::Make("delimited", options_).value()->test_directory(),
            options_.held_out.test_file);
}

TEST_F(PreparedTextTest, ACacheIsUsedAgainForTheSameFilesAndNoOthers) {
  options_.text.cache = dir_ / "cache";
  const auto made_at = [&] {
    const auto text = PreparedText::Make("delimited", options_).value();
    text->DropSamples();  // of no effect here
    return text->directory();
  };
  const std::string directory = made_at();
  const auto written = fs::last_write_time(directory + "/samples.bin");
  EXPECT_EQ(made_at(), directory);
  EXPECT_EQ(fs::last_write_time(directory + "/samples.bin"), written);
  EXPECT_EQ(FilesIn("tmp"), 0u);

  options_.text.schema.categorical[0].min_count = 2;
  EXPECT_NE(made_at(), directory);
  options_.text.schema.categorical[0].min_count = 1;
  Write("day1.csv", "another,7");
  EXPECT_NE(made_at(), directory);

  // One byte, in place, and the time of the change put back.
  const std::string before = made_at();
  const auto changed = fs::last_write_time(options_.file);
  std::fstream(options_.file, std::ios::in | std::ios::out).seekp(-2, std::ios::end).put('0');
  fs::last_write_time(options_.file, changed);
  EXPECT_NE(made_at(), before);
}

TEST_F(PreparedTextTest, ARunThatPreparesTheSameTextIsWaitedFor) {
  options_.text.cache = dir_ / "cache";
  const std::string place =
      fs::path(PreparedText::Make("delimited", options_).value()->directory()).parent_path();
  const int lock = open((place + ".lock").c_str(), O_RDWR);
  ASSERT_EQ(flock(lock, LOCK_EX | LOCK_NB), 0);
  const std::atomic<bool> stop = true;
  const Status waited = PreparedText::Make("delimited", options_, {.stop = &stop}).status();
  EXPECT_THAT(waited.message(), testing::HasSubstr("stopped while another run prepared"));
  close(lock);
  EXPECT_OK(PreparedText::Make("delimited", options_).status());
}

TEST_F(PreparedTextTest, ADirectoryThatCannotBeMadeIsNamed) {
  setenv("TMPDIR", "/nonexistent", 1);
  const Status temporary = PreparedText::Make("delimited", options_).status();
  EXPECT_EQ(temporary.code(), StatusCode::kUsage);
  EXPECT_THAT(temporary.message(),
              testing::AllOf(testing::HasSubstr("/nonexistent"), testing::HasSubstr("data_cache")));
  options_.text.cache = "/proc/cache";
  EXPECT_THAT(PreparedText::Make("delimited", options_).status().message(),
              testing::HasSubstr("--data_cache: "));
}

TEST_F(PreparedTextTest, ABrokenLineIsTheErrorAndLeavesNothing) {
  Write("day1.csv", "u3,five");
  const Status broken = PreparedText::Make("delimited", options_).status();
  EXPECT_EQ(broken.code(), StatusCode::kUsage);
  EXPECT_THAT(broken.message(), testing::HasSubstr("day1.csv:4:"));
  EXPECT_EQ(FilesIn("tmp"), 0u);
}

}  // namespace
}  // namespace rowhouse
