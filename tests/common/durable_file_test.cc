#include "common/durable_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TEST(DurableFile, ReplacesTheWholeFileAndLeavesNothingBeside) {
  TempDir dir;
  ASSERT_OK(WriteFileDurably(dir / "a", "a longer first text"));
  ASSERT_OK(WriteFileDurably(dir / "a", "second"));
  EXPECT_EQ(ReadFile(dir / "a").value(), "second");
  EXPECT_FALSE(std::filesystem::exists(dir / "a.tmp"));
}

TEST(DurableFile, ReadsLargeAndEmptyFiles) {
  TempDir dir;
  const std::string large(100'000, 'x');
  ASSERT_OK(WriteFileDurably(dir / "large", large));
  EXPECT_EQ(ReadFile(dir / "large").value(), large);
  ASSERT_OK(WriteFileDurably(dir / "empty", ""));
  EXPECT_EQ(ReadFile(dir / "empty").value(), "");
}

TEST(DurableFile, AMissingFileIsNotFoundAndNamed) {
  TempDir dir;
  const Status status = ReadFile(dir / "nothing").status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "cannot read " + (dir / "nothing") + ": No such file or directory");
}

TEST(DurableFile, ADirectoryInTheWayIsTheOperatorsToMend) {
  TempDir dir;
  ASSERT_OK(MakeDirectoryDurably(dir / "a"));
  EXPECT_EQ(WriteFileDurably(dir / "a", "text").code(), StatusCode::kUsage);
  EXPECT_FALSE(std::filesystem::exists(dir / "a.tmp"));
}

TEST(DurableFile, MakesAllDirectoriesOfAPathAndIsContentWithThemAfterwards) {
  TempDir dir;
  ASSERT_OK(MakeDirectoryDurably(dir / "a/b/c/"));
  EXPECT_TRUE(std::filesystem::is_directory(dir / "a/b/c"));
  EXPECT_OK(MakeDirectoryDurably(dir / "a/b/c"));
}

TEST(DurableFile, AFileWhereADirectoryIsDueIsNamed) {
  TempDir dir;
  ASSERT_OK(WriteFileDurably(dir / "a", "text"));
  const Status status = MakeDirectoryDurably(dir / "a");
  EXPECT_EQ(status.code(), StatusCode::kUsage);
  EXPECT_EQ(status.message(), (dir / "a") + " is a file where a directory is due");
  EXPECT_EQ(MakeDirectoryDurably(dir / "a/b").code(), StatusCode::kUsage);
}

TEST(DurableFile, APipeGetsTheTextAndStaysAPipe) {
  TempDir dir;
  const std::string path = dir / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int end = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(end, 0);
  ASSERT_OK(WriteFileDurably(path, "text"));
  char text[8] = {};
  EXPECT_EQ(read(end, text, sizeof(text)), 4);
  EXPECT_STREQ(text, "text");
  close(end);
  EXPECT_TRUE(std::filesystem::is_fifo(path));
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
}

TEST(DurableFile, AFullDiskIsExhaustedAndNamed) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
  TempDir dir;
  std::filesystem::create_symlink("/dev/full", dir / "a.tmp");
  const Status status = WriteFileDurably(dir / "a", "text");
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(), "cannot write " + (dir / "a.tmp") + ": No space left on device");
  EXPECT_FALSE(std::filesystem::exists(dir / "a"));
}

}  // namespace
}  // namespace rowhouse
