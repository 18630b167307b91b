#include <xxhash.h>

#include <bit>
#include <cmath>

#include "common/random.h"
#include "sharding/rows/initialiser.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

std::vector<float> Fill(const std::string& name, uint64_t table_rows, uint32_t dim,
                        const std::vector<RowId>& rows, uint64_t seed = 123) {
  TableSpec table;
  table.name = name;
  table.rows = table_rows;
  table.dim = dim;
  table.initialiser_options.seed = seed;
  std::vector<float> out(rows.size() * dim);
  EXPECT_OK(Initialisers().Make("counter", {table, nullptr}).value()->Fill(rows, out));
  return out;
}

std::vector<uint32_t> Bits(const std::vector<float>& values) {
  std::vector<uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

// Untouched rows of every model on disk are these numbers: they never change.
TEST(CounterInitialiser, GoldenBits) {
  EXPECT_EQ(Bits(Fill("user_id", 1000, 5, {RowId{0}, RowId{999}})),
            (std::vector<uint32_t>{0xbb05e811, 0x3c695523, 0xbc62cd11, 0x3c22b6d3, 0x3d0063fb,
                                   0x3c9d8548, 0xbce386b8, 0x3cb8e154, 0x3ca3953b, 0x3cd5bec8}));
  EXPECT_EQ(Bits(Fill("item", uint64_t{1} << 63, 4, {RowId{(uint64_t{1} << 63) - 1}}, 7)),
            (std::vector<uint32_t>{0xae889f2b, 0x2fa41ef3, 0xaf9bcd1e, 0xad2e965d}));
}

// The definition at the top of counter.cc, one weight at a time.
TEST(CounterInitialiser, FollowsItsDefinitionAtEveryDim) {
  const uint64_t row = 77, table_rows = 5000;
  const uint64_t table_key = XXH3_64bits_withSeed("user_id", 7, 123);
  const uint64_t row_key = XXH3_64bits_withSeed(&row, 8, table_key);
  const float bound = static_cast<float>(std::sqrt(1.0 / 5000.0));
  for (uint32_t dim = 1; dim <= 130; ++dim) {
    const std::vector<float> got = Fill("user_id", table_rows, dim, {RowId{row}});
    for (uint64_t c = 0; c < dim; ++c) {
      const uint64_t word = Mix64(row_key + (c / 2 + 1) * kMix64Gamma);
      const auto half = static_cast<uint32_t>(c % 2 == 0 ? word : word >> 32);
      const double factor = (2.0 * (half >> 8) + 1.0 - 0x1p24) * 0x1p-24;
      ASSERT_EQ(got[c], static_cast<float>(factor) * bound) << dim << " " << c;
    }
  }
}

TEST(CounterInitialiser, TablesOfDifferentNamesHaveDifferentRows) {
  EXPECT_NE(Fill("a", 100, 8, {RowId{1}}), Fill("b", 100, 8, {RowId{1}}));
}

TEST(CounterInitialiser, AWeightDoesNotDependOnTheWidthOfTheTable) {
  const std::vector<float> narrow = Fill("a", 100, 8, {RowId{1}});
  const std::vector<float> wide = Fill("a", 100, 32, {RowId{1}});
  EXPECT_TRUE(std::equal(narrow.begin(), narrow.end(), wide.begin()));
}

}  // namespace
}  // namespace rowhouse
