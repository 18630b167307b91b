#include "common/durable_file.h"

#include <sys/resource.h>

#include <csignal>

#include "tests/testing/small_disk.h"
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

TEST(DurableFile, ALinkIsReplacedAndNotFollowed) {
  TempDir dir;
  ASSERT_OK(WriteFileDurably(dir / "precious", "precious"));
  for (const char* name : {"a", "a.tmp"}) {
    std::filesystem::create_symlink("precious", dir / name);
    ASSERT_OK(WriteFileDurably(dir / "a", "text"));
  }
  EXPECT_EQ(ReadFile(dir / "precious").value(), "precious");
  EXPECT_EQ(ReadFile(dir / "a").value(), "text");
  EXPECT_FALSE(std::filesystem::is_symlink(dir / "a"));
}

TEST(DurableFile, AFullDiskIsExhaustedAndNamed) {
  TempDir dir;
  const SmallDisk disk(dir / "disk", "64k");
  if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs is not allowed";
  const Status status = WriteFileDurably(dir / "disk/a", std::string(100'000, 'x'));
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(), "cannot write " + (dir / "disk/a") + ": No space left on device");
  EXPECT_TRUE(std::filesystem::is_empty(dir / "disk"));
}

TEST(DurableFile, AFileBeyondTheLimitOfTheShellIsExhaustedAndSaysSo) {
  TempDir dir;
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small = {.rlim_cur = 4096, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const Status status = WriteFileDurably(dir / "a", std::string(100'000, 'x'));
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), testing::HasSubstr("ulimit -f"));
}

}  // namespace
}  // namespace rowhouse
