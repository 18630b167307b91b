#include "ps/store/written_rows.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

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

// ---- Bytes of another set -------------------------------------------------------------------

// A set of the same rows, with another budget, that was given the bytes of `from` in pieces.
WrittenRows Resized(const WrittenRows& from, uint64_t budget_bytes) {
  const WrittenRows::Shape shape = from.shape();
  WrittenRows to = WrittenRows(from.rows(), budget_bytes).EmptyFor(shape);
  std::vector<std::byte> piece(96);  // Not a divisor of sets: the last piece is shorter.
  for (uint64_t at = 0; at < shape.bytes; at += piece.size()) {
    piece.resize(std::min<uint64_t>(96, shape.bytes - at));
    from.CopyBytes(at, piece);
    to.AddBytes(shape, at, piece);
  }
  return to;
}

// Exact sets and filters of any budget, into such.
RC_GTEST_PROP(WrittenRowsProperty, BytesForAnotherBudgetLackNoRow, ()) {
  const auto rows = *rc::gen::inRange<uint64_t>(1, 20'000);
  WrittenRows written(rows, *rc::gen::inRange<uint64_t>(0, 3000));
  const auto positions =
      *rc::gen::container<std::vector<uint64_t>>(rc::gen::inRange<uint64_t>(0, rows));
  for (const uint64_t position : positions) written.Add(position);
  const auto budget = *rc::gen::inRange<uint64_t>(0, 3000);
  const WrittenRows fresh(rows, budget);
  const WrittenRows resized = Resized(written, budget);
  for (const uint64_t position : positions) RC_ASSERT(resized.MayContain(position));
  RC_ASSERT(resized.memory_bytes() <= fresh.memory_bytes());
  RC_ASSERT(resized.is_exact() == (written.is_exact() && fresh.is_exact()));
  RC_ASSERT(resized.added() == written.added());
  if (!resized.is_exact()) return;
  for (uint64_t position = 0; position < rows; ++position) {
    RC_ASSERT(resized.MayContain(position) == written.MayContain(position));
  }
}

TEST(WrittenRows, AFilterThatMayGrowLetsNoMoreThrough) {
  constexpr uint64_t kRows = uint64_t{1} << 40, kAdded = 20'000;
  WrittenRows written(kRows, kAdded);  // 8 bits a row
  for (uint64_t i = 0; i < kAdded; ++i) written.Add(i * 2);
  const auto passed = [](const WrittenRows& set) {
    uint64_t count = 0;
    for (uint64_t i = 0; i < kAdded; ++i) count += set.MayContain(i * 2 + 1) ? 1 : 0;
    return count;
  };
  EXPECT_EQ(passed(Resized(written, kAdded)), passed(written));
  EXPECT_EQ(passed(Resized(written, kAdded * 3 / 2)), passed(written));
  EXPECT_EQ(Resized(written, kAdded * 3 / 2).memory_bytes(), written.memory_bytes());
  EXPECT_EQ(passed(Resized(written, kAdded * 5)), passed(written));
  EXPECT_GT(Resized(written, kAdded * 5).memory_bytes(), 4 * written.memory_bytes());
  EXPECT_LE(passed(Resized(written, kAdded / 2)), 8000u);  // 4 bits a row: 33 %
}

TEST(WrittenRows, AFilterOfLessThanABitARowLetsAllThrough) {
  WrittenRows written(10'000, 4096);
  for (uint64_t i = 0; i < 5000; ++i) written.Add(i);
  const WrittenRows resized = Resized(written, 320);
  for (uint64_t i = 0; i < 10'000; ++i) ASSERT_TRUE(resized.MayContain(i));
  EXPECT_EQ(resized.memory_bytes(), 320u);
}

TEST(WrittenRows, ShapesThatNoSetHas) {
  EXPECT_TRUE(WrittenRows::IsPossible({.rows = 1000, .bytes = 128, .is_exact = true}));
  EXPECT_TRUE(WrittenRows::IsPossible({.rows = 1000, .bytes = 64, .is_exact = false}));
  EXPECT_FALSE(WrittenRows::IsPossible({.rows = 1000, .bytes = 64, .is_exact = true}));
  EXPECT_FALSE(WrittenRows::IsPossible({.rows = 1000, .bytes = 192, .is_exact = false}));
  EXPECT_FALSE(WrittenRows::IsPossible({.rows = 1000, .bytes = 96, .is_exact = false}));
  EXPECT_FALSE(WrittenRows::IsPossible({.rows = 1000, .bytes = 0, .is_exact = false}));
  EXPECT_FALSE(WrittenRows::IsPossible({.rows = 0, .bytes = 64, .is_exact = true}));
}

}  // namespace
}  // namespace rowhouse
