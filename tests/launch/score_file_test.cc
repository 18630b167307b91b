#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "launch/score/scoring.h"
#include "tests/testing/small_disk.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

TEST(ScoreFile, HasALineASampleWithItsScoreFirst) {
  const TempDir dir;
  auto file = ScoreFile::Create(dir / "scores.tsv");
  ASSERT_OK(file);
  ASSERT_OK(file.value()->Append(std::array{0.1f, 0.25f}, std::array{1.0f, 0.0f}));
  ASSERT_OK(file.value()->Append(std::array{0.123456789f}, {}));
  EXPECT_FALSE(std::filesystem::exists(dir / "scores.tsv"));
  ASSERT_OK(file.value()->Finish());
  EXPECT_EQ(FileText(dir / "scores.tsv"), "0.1\t1\n0.25\t0\n0.12345679\n");
}

TEST(ScoreFile, ThatIsNotFinishedLeavesAnEarlierOneAsItWas) {
  const TempDir dir;
  std::ofstream(dir / "scores.tsv") << "earlier\n";
  {
    auto file = ScoreFile::Create(dir / "scores.tsv");
    ASSERT_OK(file);
    ASSERT_OK(file.value()->Append(std::array{0.5f}, {}));
  }
  EXPECT_EQ(FileText(dir / "scores.tsv"), "earlier\n");
}

TEST(ScoreFile, ThatCannotBeMadeIsTheOperatorsMistake) {
  const TempDir dir;
  const Status missing = ScoreFile::Create(dir / "no/scores.tsv").status();
  EXPECT_EQ(missing.code(), StatusCode::kUsage);
  EXPECT_THAT(missing.message(), HasSubstr("--out=" + dir / "no/scores.tsv"));
  const Status directory = ScoreFile::Create(dir.path()).status();
  EXPECT_EQ(directory.code(), StatusCode::kUsage);
  EXPECT_THAT(directory.message(), HasSubstr("is a directory"));
}

TEST(ScoreFile, OnAFullDiskLeavesNothing) {
  const TempDir dir;
  const SmallDisk disk(dir / "disk", "64k");
  if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs is not allowed";
  {
    auto file = ScoreFile::Create(dir / "disk/scores.tsv");
    ASSERT_OK(file);
    const std::vector<float> scores(20000, 0.123456f);
    ASSERT_OK(file.value()->Append(scores, {}));  // still in memory
    EXPECT_EQ(file.value()->Finish().code(), StatusCode::kResourceExhausted);
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir / "disk"));
}

}  // namespace
}  // namespace rowhouse
