#include "launch/run/key_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

mode_t ModeOf(const std::string& path) {
  struct stat found = {};
  EXPECT_EQ(stat(path.c_str(), &found), 0) << path;
  return found.st_mode & 0777;
}

TEST(KeyFile, IsMadeOnceAndForTheUserAlone) {
  const TempDir dir;
  const std::string path = dir / "not/there/key";
  const Result<std::string> made = ReadOrMakeKey(path);
  ASSERT_OK(made);
  EXPECT_TRUE(IsKey(made.value()));
  EXPECT_EQ(ModeOf(path), 0600u);
  EXPECT_EQ(ReadOrMakeKey(path).value(), made.value());
  const std::filesystem::directory_iterator left(dir / "not/there");
  EXPECT_EQ(std::distance(begin(left), end(left)), 1) << "nothing else is left there";
}

TEST(KeyFile, ProcessesThatMakeItAtOnceHaveTheSame) {
  const TempDir dir;
  constexpr size_t kMakers = 16;
  std::vector<std::string> keys(kMakers);
  std::vector<std::thread> makers;
  for (std::string& key : keys) {
    makers.emplace_back([&key, &dir] { key = ReadOrMakeKey(dir / "key").value(); });
  }
  for (std::thread& maker : makers) maker.join();
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), 1u);
}

TEST(KeyFile, ThatOthersMayReadIsRefused) {
  const TempDir dir;
  const std::string path = dir / "key";
  ASSERT_OK(ReadOrMakeKey(path));
  for (const mode_t mode : {0640, 0604, 0644, 0620, 0610}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    const Status status = ReadOrMakeKey(path).status();
    EXPECT_EQ(status.code(), StatusCode::kUsage);
    EXPECT_THAT(status.message(), HasSubstr(fmt::format("(mode {:04o})", mode)));
  }
  ASSERT_EQ(chmod(path.c_str(), 0400), 0);
  EXPECT_OK(ReadOrMakeKey(path));
}

TEST(KeyFile, WithoutAKeyOrAPlaceForOneIsTheOperatorsMistake) {
  const TempDir dir;
  std::ofstream(dir / "words") << "correct horse battery staple\n";
  ASSERT_EQ(chmod((dir / "words").c_str(), 0600), 0);
  EXPECT_THAT(ReadOrMakeKey(dir / "words").status().message(), HasSubstr("holds no key"));
  EXPECT_EQ(ReadOrMakeKey(dir.path()).status().code(), StatusCode::kUsage);
  const Status no_folder = ReadOrMakeKey(dir / "words/key").status();
  EXPECT_EQ(no_folder.code(), StatusCode::kUsage) << no_folder.message();
  EXPECT_THAT(ReadOrMakeKey("/proc/self/key").status().message(), HasSubstr("--open"));
}

// The variable HOME of this process, for the time of a test.
class KeyFileHome {
 public:
  explicit KeyFileHome(const char* path) {
    if (const char* const before = std::getenv("HOME")) before_ = before;
    path == nullptr ? unsetenv("HOME") : setenv("HOME", path, 1);
  }
  ~KeyFileHome() { setenv("HOME", before_.c_str(), 1); }

 private:
  std::string before_;
};

TEST(FindSecurity, ByHandTheKeyLiesInTheHome) {
  const TempDir dir;
  const KeyFileHome home(dir.path().c_str());
  Settings settings;
  const Result<Security> found = FindSecurity(settings, /*by_hand=*/true);
  ASSERT_OK(found);
  EXPECT_EQ(found.value().kind, Security::Kind::kPlain);
  EXPECT_EQ(found.value().key, ReadOrMakeKey(dir / ".config/rowhouse/key").value());
  settings.cluster.encrypt = true;
  EXPECT_EQ(FindSecurity(settings, true).value().kind, Security::Kind::kCurve);
  EXPECT_EQ(FindSecurity(settings, true).value().key, found.value().key);
}

TEST(FindSecurity, ARunOfItsOwnNodesHasAKeyOfItsOwn) {
  const KeyFileHome home(nullptr);
  Settings settings;
  const Result<Security> found = FindSecurity(settings, /*by_hand=*/false);
  ASSERT_OK(found);
  EXPECT_NE(found.value().key, FindSecurity(settings, false).value().key);
}

TEST(FindSecurity, WithoutAHomeANodeRefusesUnlessItIsOpen) {
  const KeyFileHome home(nullptr);
  Settings settings;
  const Status status = FindSecurity(settings, /*by_hand=*/true).status();
  EXPECT_EQ(status.code(), StatusCode::kUsage);
  EXPECT_THAT(status.message(), HasSubstr("HOME is not set"));
  settings.cluster.open = true;
  EXPECT_EQ(FindSecurity(settings, true).value().kind, Security::Kind::kOpen);
  settings.cluster.encrypt = true;
  EXPECT_EQ(FindSecurity(settings, true).status().code(), StatusCode::kUsage);
}

}  // namespace
}  // namespace rowhouse
