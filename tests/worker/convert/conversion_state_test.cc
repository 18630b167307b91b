#include "worker/data/convert/conversion_state.h"

#include <filesystem>
#include <fstream>

#include "common/durable_file.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST(ConversionState, KeepsChunksThatWereSynced) {
  TempDir directory;
  const std::string out = directory / "out";
  const nlohmann::ordered_json identity = {{"schema", "a"}};
  const ConvertedChunk second = {.file = 1,
                                 .lines = 10,
                                 .samples = 7,
                                 .bad_lines = 3,
                                 .blocks = {{80, 40, 4, 2}, {120, 40, 3, UINT32_MAX}}};
  {
    const auto state = ConversionState::Open(out + "/", identity);
    ASSERT_OK(state);
    state.value()->Append({.file = 0, .lines = 5, .samples = 5, .blocks = {{0, 80, 5, 1}}});
    state.value()->Append(second);
    ASSERT_OK(state.value()->Sync());
    state.value()->Append({.file = 1, .samples = 9});
  }
  // A crash tore the last entry.
  std::ofstream(out + ".partial/chunks.journal", std::ios::app) << "ten letter";
  const auto state = ConversionState::Open(out, identity);
  ASSERT_OK(state);
  ASSERT_EQ(state.value()->chunks().size(), 2u);
  EXPECT_EQ(state.value()->chunks()[1], second);
  EXPECT_EQ(fs::file_size(out + ".partial/chunks.journal"), 2 * (20 + 8) + 3 * 32u);
}

TEST(ConversionState, RefusesASecondProcessAndAnotherConversion) {
  TempDir directory;
  const std::string out = directory / "out";
  {
    const auto state = ConversionState::Open(out, {{"schema", "a"}});
    ASSERT_OK(state);
    const Status second = ConversionState::Open(out, {{"schema", "a"}}).status();
    EXPECT_EQ(second.code(), StatusCode::kUsage);
    EXPECT_THAT(second.message(), HasSubstr("another process"));
  }
  const Status other = ConversionState::Open(out, {{"schema", "b"}}).status();
  EXPECT_EQ(other.code(), StatusCode::kUsage);
  EXPECT_THAT(other.message(), HasSubstr("another \"schema\": \"a\"; now it is \"b\""));
}

TEST(ConversionState, LeavesDirectoriesOfOthersAlone) {
  TempDir directory;
  const std::string out = directory / "out";
  fs::create_directory(out + ".partial");
  std::ofstream(out + ".partial/thesis.tex") << "x";
  const Status status = ConversionState::Open(out, {{"schema", "a"}}).status();
  EXPECT_EQ(status.code(), StatusCode::kUsage);
  EXPECT_TRUE(fs::exists(out + ".partial/thesis.tex"));
  EXPECT_FALSE(ConversionState::IsThere(out));
}

TEST(ConversionState, FinishesAlsoWhereItWasKilledAfterTheRename) {
  TempDir directory;
  const std::string out = directory / "out";
  for (const bool is_renamed : {false, true}) {
    const auto state = ConversionState::Open(out, {{"schema", "a"}});
    ASSERT_OK(state);
    if (!is_renamed) fs::create_directory(state.value()->data_path());
    ASSERT_OK(state.value()->Finish());
    EXPECT_TRUE(fs::exists(out));
    EXPECT_FALSE(fs::exists(out + ".partial"));
  }
}

// At once, between the sampled pieces, and with size and time put back.
TEST(FileIdentity, FindsAByteThatWasChangedInPlace) {
  const TempDir dir;
  const std::string path = dir / "text";
  std::ofstream(path) << std::string(1 << 20, 'a');
  for (const char letter : {'b', 'c', 'd', 'e', 'f', 'g', 'h'}) {
    const std::string before = FileIdentity(path).value();
    EXPECT_EQ(FileIdentity(path).value(), before);
    const auto written = fs::last_write_time(path);
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(6000).put(letter);
    file.close();
    fs::last_write_time(path, written);
    EXPECT_NE(FileIdentity(path).value(), before);
  }
}

}  // namespace
}  // namespace rowhouse
