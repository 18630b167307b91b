#include "ps/store/written_rows.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "common/durable_file.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

// ---- The set --------------------------------------------------------------------------------

RC_GTEST_PROP(WrittenRowsProperty, AnExactSetIsAStdSet, ()) {
  const auto rows = *rc::gen::inRange<uint64_t>(1, 2000);
  WrittenRows written(rows, /*budget_bytes=*/256);
  RC_ASSERT(written.is_exact());
  std::set<uint64_t> reference;
  for (const uint64_t position :
       *rc::gen::container<std::vector<uint64_t>>(rc::gen::inRange<uint64_t>(0, rows))) {
    written.Add(position);
    reference.insert(position);
  }
  for (uint64_t position = 0; position < rows; ++position) {
    RC_ASSERT(written.MayContain(position) == reference.contains(position));
  }
  RC_ASSERT(written.added() == reference.size());
}

RC_GTEST_PROP(WrittenRowsProperty, AFilterMissesNothing, ()) {
  const auto rows = *rc::gen::inRange<uint64_t>(100'000, uint64_t{1} << 62);
  WrittenRows written(rows, *rc::gen::inRange<uint64_t>(0, 4096));
  RC_ASSERT(!written.is_exact());
  const auto positions =
      *rc::gen::container<std::vector<uint64_t>>(rc::gen::inRange<uint64_t>(0, rows));
  for (const uint64_t position : positions) written.Add(position);
  for (const uint64_t position : positions) RC_ASSERT(written.MayContain(position));
  RC_ASSERT(written.added() <= std::set(positions.begin(), positions.end()).size());
}

TEST(WrittenRows, ABitARowWhereThatFitsTheBudgetAndElseTheBudget) {
  EXPECT_TRUE(WrittenRows(64 * 8, 64).is_exact());
  EXPECT_EQ(WrittenRows(64 * 8, 64).memory_bytes(), 64u);
  EXPECT_FALSE(WrittenRows(64 * 8 + 1, 64).is_exact());
  EXPECT_EQ(WrittenRows(64 * 8 + 1, 64).memory_bytes(), 64u);
  EXPECT_EQ(WrittenRows(64 * 8 + 1, 191).memory_bytes(), 128u);  // Exact, in two lines.
  EXPECT_EQ(WrittenRows(uint64_t{1} << 63, 1'000'063).memory_bytes(), 1'000'000u);
  EXPECT_EQ(WrittenRows(1, 0).memory_bytes(), 64u);  // No budget at all still is a line.
  EXPECT_EQ(WrittenRows(5'000'000, 1 << 20).memory_bytes(), 625'024u);
}

TEST(WrittenRows, AnEmptySetContainsNothing) {
  for (const uint64_t rows : {uint64_t{1}, uint64_t{1000}, uint64_t{1} << 40}) {
    const WrittenRows written(rows, 4096);
    for (uint64_t i = 0; i < 1000; ++i) ASSERT_FALSE(written.MayContain(i % rows));
    EXPECT_EQ(written.added(), 0u);
  }
}

// Of 20,000 positions never added. The rates are those the header names; dense positions, as
// tables have them, and every other row, as cuts of a table have them.
TEST(WrittenRows, AFilterLetsFewThroughThatWereNeverAdded) {
  struct Case {
    uint64_t bits, least, most;
  };
  for (const auto [bits, least, most] :
       {Case{16, 1, 60}, Case{10, 100, 320}, Case{8, 400, 800}, Case{4, 5500, 7500}}) {
    constexpr uint64_t kAdded = 20'000;
    WrittenRows written(uint64_t{1} << 40, kAdded * bits / 8);
    for (uint64_t i = 0; i < kAdded; ++i) written.Add(i * 2);
    uint64_t passed = 0;
    for (uint64_t i = 0; i < kAdded; ++i) passed += written.MayContain(i * 2 + 1) ? 1 : 0;
    EXPECT_GE(passed, least) << bits;
    EXPECT_LE(passed, most) << bits;
  }
}

TEST(WrittenRows, APositionBeyondTheSliceIsAProgrammersMistake) {
  WrittenRows written(10, 64);
  EXPECT_DEATH(written.Add(10), "");
  EXPECT_DEATH((void)written.MayContain(10), "");
}

// ---- The file -------------------------------------------------------------------------------

class WrittenRowsFile : public testing::Test {
 protected:
  // An exact set of table 0 and a filter of table 7's columns from 16 on.
  struct Sets {
    WrittenRows exact{1000, 4096};
    WrittenRows filter{uint64_t{1} << 40, 128};
    std::vector<WrittenSlice> slices() {
      return {{TableId{0}, 0, 500, &exact}, {TableId{7}, 16, 0, &filter}};
    }
  };
  WrittenRowsFile() {
    for (const uint64_t position : {0, 3, 999}) saved_.exact.Add(position);
    for (const uint64_t position : {5, 6}) saved_.filter.Add(position);
    CHECK(SaveWrittenRows(path_, "77", ImageOfWrittenRows(saved_.slices())).ok());
  }
  // What Load says; a refusal has to leave the sets empty.
  Status Load(const std::string& stamp = "77") {
    Sets found;
    const Status status = LoadWrittenRows(path_, stamp, found.slices());
    EXPECT_EQ(found.exact.added(), status.ok() ? 3u : 0u);
    EXPECT_EQ(found.filter.added(), status.ok() ? 2u : 0u);
    EXPECT_EQ(found.exact.MayContain(999), status.ok());
    EXPECT_EQ(found.filter.MayContain(5), status.ok());
    EXPECT_FALSE(found.exact.MayContain(4));
    return status;
  }

  TempDir dir_;
  const std::string path_ = dir_ / "written";
  Sets saved_;
};

TEST_F(WrittenRowsFile, GivesBackWhatWasSaved) { EXPECT_OK(Load()); }

TEST_F(WrittenRowsFile, IsOfNoUseOnceSomethingWasWritten) {
  EXPECT_THAT(Load("78").message(), HasSubstr("rows were written since"));
  EXPECT_EQ(Load("").code(), StatusCode::kUsage);
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
}

TEST_F(WrittenRowsFile, OtherSlicesAreRefused) {
  Sets found;
  std::vector<WrittenSlice> slices = found.slices();
  slices.pop_back();
  EXPECT_THAT(LoadWrittenRows(path_, "77", slices).message(), HasSubstr("of 2 slices"));
  for (int change = 0; change < 4; ++change) {
    slices = found.slices();
    WrittenRows other(1001, 4096);
    if (change == 0) slices[0].table = TableId{1};
    if (change == 1) slices[0].first_column = 16;
    if (change == 2) slices[0].first_position = 0;
    if (change == 3) slices[0].rows = &other;
    EXPECT_THAT(LoadWrittenRows(path_, "77", slices).message(), HasSubstr("set 0 is of another"))
        << change;
  }
  EXPECT_EQ(found.exact.added(), 0u);
}

}  // namespace
}  // namespace rowhouse
