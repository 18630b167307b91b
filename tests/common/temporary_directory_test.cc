#include "common/temporary_directory.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

namespace fs = std::filesystem;

class TemporaryDirectoryTest : public testing::Test {
 protected:
  TemporaryDirectoryTest() { setenv("TMPDIR", dir_.path().c_str(), 1); }
  ~TemporaryDirectoryTest() override { unsetenv("TMPDIR"); }

  size_t Left() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(dir_.path()), fs::directory_iterator()));
  }

  TempDir dir_;
};

TEST_F(TemporaryDirectoryTest, GoesWithItsObject) {
  {
    const auto made = TemporaryDirectory::Make("rowhouse-x").value();
    EXPECT_TRUE(made->path().starts_with(dir_ / "rowhouse-x-"));
    std::ofstream(made->path() + "/file") << "x";
  }
  EXPECT_EQ(Left(), 0u);
}

TEST_F(TemporaryDirectoryTest, OneOfAKilledProcessIsRemovedAndOnesThatLiveStay) {
  const auto lives = TemporaryDirectory::Make("rowhouse-x").value();
  const pid_t child = fork();
  if (child == 0) {
    const auto left = TemporaryDirectory::Make("rowhouse-x").value();
    std::ofstream(left->path() + "/file") << "x";
    _exit(0);  // without the destructor
  }
  waitpid(child, nullptr, 0);
  EXPECT_EQ(Left(), 2u);
  TemporaryDirectory::RemoveLeftOver("rowhouse-y");
  EXPECT_EQ(Left(), 2u);
  TemporaryDirectory::RemoveLeftOver("rowhouse-x");
  EXPECT_EQ(Left(), 1u);
  EXPECT_TRUE(fs::exists(lives->path()));
}

TEST_F(TemporaryDirectoryTest, WhatUsersCalledSoStays) {
  fs::create_directories(dir_ / "rowhouse-x-mine");
  std::ofstream(dir_ / "rowhouse-x-notes") << "precious";
  std::ofstream(dir_ / "rowhouse-x-mine/notes.txt") << "precious";
  // Marked by another host, and by a link.
  fs::create_directories(dir_ / "rowhouse-x-far");
  std::ofstream(dir_ / "rowhouse-x-far/rowhouse-temporary")
      << "a temporary directory of rowhouse on elsewhere\n";
  const auto lives = TemporaryDirectory::Make("rowhouse-z").value();
  fs::create_directories(dir_ / "rowhouse-x-link");
  fs::create_symlink(lives->path() + "/rowhouse-temporary",
                     dir_ / "rowhouse-x-link/rowhouse-temporary");
  TemporaryDirectory::RemoveLeftOver("rowhouse-x");
  EXPECT_EQ(Left(), 5u);
  EXPECT_TRUE(fs::exists(dir_ / "rowhouse-x-mine/notes.txt"));
}

TEST_F(TemporaryDirectoryTest, APlaceThatIsNoneIsTheOperatorsMistakeAndNamed) {
  setenv("TMPDIR", (dir_ / "none").c_str(), 1);
  const Status status = TemporaryDirectory::Make("rowhouse-x").status();
  EXPECT_EQ(status.code(), StatusCode::kUsage);
  EXPECT_THAT(status.message(), testing::HasSubstr(dir_ / "none"));
}

}  // namespace
}  // namespace rowhouse
