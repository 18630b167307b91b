#include "common/file_lock.h"

#include <fstream>

#include "common/durable_file.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

StatusCode CodeOf(const Result<std::unique_ptr<FileLock>>& lock) { return lock.status().code(); }

TEST(FileLock, ManyReadersOrOneWriter) {
  const TempDir dir;
  EXPECT_EQ(CodeOf(FileLock::Shared(dir / "f")), StatusCode::kNotFound);
  EXPECT_EQ(CodeOf(FileLock::Exclusive(dir / "f")), StatusCode::kNotFound);
  auto writer = FileLock::Exclusive(dir / "f", /*makes_file=*/true);
  ASSERT_OK(writer);
  writer.value()->Say("long words");
  writer.value()->Say("me");
  EXPECT_EQ(ReadFile(dir / "f").value(), "me");
  EXPECT_EQ(CodeOf(FileLock::Shared(dir / "f")), StatusCode::kUnavailable);
  writer.value().reset();
  const auto one = FileLock::Shared(dir / "f"), other = FileLock::Shared(dir / "f");
  EXPECT_OK(one);
  EXPECT_OK(other);
  EXPECT_EQ(CodeOf(FileLock::Exclusive(dir / "f")), StatusCode::kUnavailable);
}

TEST(FileLock, ALinkIsNotFollowed) {
  const TempDir dir;
  std::ofstream(dir / "precious") << "precious";
  std::filesystem::create_symlink("precious", dir / "f");
  EXPECT_FALSE(FileLock::Exclusive(dir / "f", /*makes_file=*/true).ok());
}

}  // namespace
}  // namespace rowhouse
