#include "common/new_file.h"

#include "common/durable_file.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

namespace fs = std::filesystem;

TEST(NewFile, TwoThatReplaceOneFileDoNotMix) {
  const TempDir dir;
  auto a = NewFile::Make(dir / "f").value();
  auto b = NewFile::Make(dir / "f").value();
  for (int i = 0; i < 100; ++i) {
    ASSERT_OK(a->Append(std::string(1000, 'a')));
    ASSERT_OK(b->Append(std::string(1000, 'b')));
  }
  ASSERT_OK(a->Commit());
  EXPECT_EQ(ReadFile(dir / "f").value(), std::string(100'000, 'a'));
  ASSERT_OK(b->Commit());
  EXPECT_EQ(ReadFile(dir / "f").value(), std::string(100'000, 'b'));
}

TEST(NewFile, ThatIsNotCommittedLeavesNothing) {
  const TempDir dir;
  ASSERT_OK(NewFile::Make(dir / "f").value()->Append("text"));
  EXPECT_TRUE(fs::is_empty(dir.path()));
  EXPECT_EQ(NewFile::Make(dir / "none/f").status().code(), StatusCode::kNotFound);
}

TEST(NewFile, KeepsTheModeOfTheFileItReplaces) {
  const TempDir dir;
  ASSERT_OK(WriteFileDurably(dir / "f", "secret"));
  const fs::perms mine = fs::perms::owner_read | fs::perms::owner_write;
  fs::permissions(dir / "f", mine);
  ASSERT_OK(WriteFileDurably(dir / "f", "another secret"));
  EXPECT_EQ(fs::status(dir / "f").permissions(), mine);
}

TEST(NewFile, TakesTheLongestNameThereIs) {
  const TempDir dir;
  const std::string name(255, 'n');
  ASSERT_OK(WriteFileDurably(dir / name, "text"));
  EXPECT_EQ(ReadFile(dir / name).value(), "text");
}

TEST(NewFile, ALinkedFileIsTheSameAndNeitherALinkNorWhatIsThereIsFollowed) {
  const TempDir dir;
  ASSERT_OK(WriteFileDurably(dir / "source", "source"));
  ASSERT_OK(WriteFileDurably(dir / "precious", "precious"));
  fs::create_symlink("precious", dir / "f");
  ASSERT_OK(LinkOrCopyDurably(dir / "source", dir / "f"));
  EXPECT_TRUE(fs::equivalent(dir / "source", dir / "f"));
  EXPECT_FALSE(fs::is_symlink(dir / "f"));
  EXPECT_EQ(ReadFile(dir / "precious").value(), "precious");
  ASSERT_OK(LinkOrCopyDurably(dir / "source", dir / "f"));
  EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), fs::directory_iterator()), 3);
}

}  // namespace
}  // namespace rowhouse
