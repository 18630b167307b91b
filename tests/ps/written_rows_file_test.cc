#include "ps/store/written_rows_file.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "common/durable_file.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

class WrittenRowsFile : public testing::Test {
 protected:
  // An exact set of table 0 and a filter of table 7's columns from 16 on.
  struct Sets {
    explicit Sets(uint64_t exact_bytes = 4096, uint64_t filter_bytes = 128)
        : exact(std::make_shared<WrittenRows>(1000, exact_bytes)),
          filter(std::make_shared<WrittenRows>(uint64_t{1} << 40, filter_bytes)) {}
    std::vector<WrittenSlice> slices() const {
      return {{TableId{0}, 0, 500, exact}, {TableId{7}, 16, 0, filter}};
    }
    std::shared_ptr<WrittenRows> exact, filter;
  };
  WrittenRowsFile() {
    for (const uint64_t position : {0, 3, 999}) saved_.exact->Add(position);
    for (const uint64_t position : {5, 6}) saved_.filter->Add(position);
    CHECK(SaveWrittenRows(path_, "77", saved_.slices()).ok());
  }
  // What Load says; a refusal has to leave the sets empty.
  Status Load(const std::string& stamp = "77", const Sets& found = Sets()) {
    const Status status = LoadWrittenRows(path_, stamp, found.slices());
    EXPECT_EQ(found.exact->added(), status.ok() ? 3u : 0u);
    EXPECT_EQ(found.filter->added(), status.ok() ? 2u : 0u);
    EXPECT_EQ(found.exact->MayContain(999), status.ok());
    EXPECT_EQ(found.filter->MayContain(5), status.ok());
    EXPECT_FALSE(found.exact->MayContain(4));
    return status;
  }

  TempDir dir_;
  const std::string path_ = dir_ / "written";
  Sets saved_;
};

TEST_F(WrittenRowsFile, GivesBackWhatWasSaved) { EXPECT_OK(Load()); }

TEST_F(WrittenRowsFile, GivesItToSetsOfOtherBudgets) {
  for (const uint64_t exact_bytes : {64, 4096}) {
    for (const uint64_t filter_bytes : {0, 64, 128, 192, 1 << 20}) {
      const Sets found(exact_bytes, filter_bytes);
      EXPECT_OK(Load("77", found));
      EXPECT_EQ(found.exact->is_exact(), exact_bytes == 4096);
      EXPECT_LE(found.filter->memory_bytes(), std::max<uint64_t>(filter_bytes, 64));
    }
  }
}

TEST_F(WrittenRowsFile, HasSetsOfSeveralPieces) {
  constexpr uint64_t kRows = 30'000'000;
  const auto saved = std::make_shared<WrittenRows>(kRows, kRows);
  for (uint64_t i = 0; i < kRows; i += 1009) saved->Add(i);
  ASSERT_OK(SaveWrittenRows(path_, "1", std::vector{WrittenSlice{.rows = saved}}));
  for (const uint64_t budget : {kRows, kRows / 20}) {
    const auto found = std::make_shared<WrittenRows>(kRows, budget);
    ASSERT_OK(LoadWrittenRows(path_, "1", std::vector{WrittenSlice{.rows = found}}));
    for (uint64_t i = 0; i < kRows; i += 1009) ASSERT_TRUE(found->MayContain(i));
  }
}

TEST_F(WrittenRowsFile, MayBeSavedWhileRowsAreAdded) {
  const auto set = std::make_shared<WrittenRows>(uint64_t{1} << 40, 4 << 20);
  for (uint64_t i = 0; i < 1000; ++i) set->Add(i);
  std::atomic<bool> is_saved = false;
  std::thread saves([&] {
    EXPECT_OK(SaveWrittenRows(path_, "1", std::vector{WrittenSlice{.rows = set}}));
    is_saved = true;
  });
  for (uint64_t i = 1000; !is_saved; ++i) set->Add(i);
  saves.join();
  const auto found = std::make_shared<WrittenRows>(uint64_t{1} << 40, 4 << 20);
  ASSERT_OK(LoadWrittenRows(path_, "1", std::vector{WrittenSlice{.rows = found}}));
  for (uint64_t i = 0; i < 1000; ++i) ASSERT_TRUE(found->MayContain(i));
}

TEST_F(WrittenRowsFile, IsOfNoUseOnceSomethingWasWritten) {
  EXPECT_THAT(Load("78").message(), HasSubstr("rows were written since"));
  EXPECT_EQ(Load("").code(), StatusCode::kUsage);
}

TEST_F(WrittenRowsFile, TakesTheStampOfTheSameRowsInOtherFiles) {
  EXPECT_EQ(RestampWrittenRows(path_, "76", "78").code(), StatusCode::kUsage);
  EXPECT_OK(Load());
  std::filesystem::create_hard_link(path_, dir_ / "of a checkpoint");
  EXPECT_OK(RestampWrittenRows(path_, "77", "78"));
  EXPECT_EQ(Load("77").code(), StatusCode::kUsage);
  EXPECT_OK(Load("78"));
  EXPECT_OK(LoadWrittenRows(dir_ / "of a checkpoint", "77", Sets().slices()));
  std::filesystem::remove(path_);
  EXPECT_EQ(RestampWrittenRows(path_, "78", "79").code(), StatusCode::kNotFound);
}

TEST_F(WrittenRowsFile, AMissingOneIsNotFound) {
  std::filesystem::remove(path_);
  EXPECT_EQ(Load().code(), StatusCode::kNotFound);
}

TEST_F(WrittenRowsFile, AFlippedByteAndAnotherLengthIsCorruption) {
  const std::string whole = ReadFile(path_).value();
  for (size_t at = 0; at < whole.size(); at += 5) {
    std::string text = whole;
    text[at] = static_cast<char>(text[at] ^ 0x10);
    std::ofstream(path_) << text;
    ASSERT_EQ(Load().code(), StatusCode::kCorruption) << at;
    std::ofstream(path_) << whole.substr(0, at);
    ASSERT_EQ(Load().code(), StatusCode::kCorruption) << at;
  }
  std::ofstream(path_) << whole << '\0';
  EXPECT_EQ(Load().code(), StatusCode::kCorruption);
}

TEST_F(WrittenRowsFile, OtherSlicesAreRefused) {
  const Sets found;
  std::vector<WrittenSlice> slices = found.slices();
  slices.pop_back();
  EXPECT_THAT(LoadWrittenRows(path_, "77", slices).message(), HasSubstr("of 2 slices"));
  for (int change = 0; change < 4; ++change) {
    slices = found.slices();
    if (change == 0) slices[0].table = TableId{1};
    if (change == 1) slices[0].first_column = 16;
    if (change == 2) slices[0].first_position = 0;
    if (change == 3) slices[0].rows = std::make_shared<WrittenRows>(1001, 4096);
    EXPECT_THAT(LoadWrittenRows(path_, "77", slices).message(), HasSubstr("set 0 is of another"))
        << change;
  }
  EXPECT_EQ(found.exact->added(), 0u);
}

}  // namespace
}  // namespace rowhouse
