#include <bit>

#include "common/numpy_random.h"
#include "sharding/rows/initialiser.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TableSpec DlrmInitialiserTable(uint64_t rows, uint32_t dim, uint64_t seed, uint64_t first_draw) {
  TableSpec table;
  table.name = "emb";
  table.rows = rows;
  table.dim = dim;
  table.initialiser_options = {.seed = seed, .first_draw = first_draw};
  return table;
}

Result<std::unique_ptr<Initialiser>> Make(const TableSpec& table) {
  const auto seed = static_cast<uint32_t>(table.initialiser_options.seed);
  return Initialisers().Make("dlrm", {table, std::make_shared<NumpyDraws>(seed)});
}

// Tables as the program of DLRM printed them, one after the other from draw `first_draw` on.
void ExpectTables(const nlohmann::json& tables, uint64_t first_draw) {
  for (const nlohmann::json& rows : tables) {
    const auto dim = static_cast<uint32_t>(rows[0].size());
    const auto initialiser = Make(DlrmInitialiserTable(rows.size(), dim, 123, first_draw)).value();
    for (uint64_t row = 0; row < rows.size(); ++row) {
      std::vector<float> got(dim);
      EXPECT_OK(initialiser->Fill(std::vector{RowId{row}}, got));
      EXPECT_EQ(got, rows[row].get<std::vector<float>>()) << row;
    }
    first_draw += rows.size() * dim;
  }
}

TEST(DlrmInitialiser, GivesTheTablesDlrmStartsWith) {
  const nlohmann::json traces = LoadVectors("dlrm_cli_traces.json")["traces"];
  ASSERT_EQ(traces[0]["initial"]["emb"].size(), 3u);
  ExpectTables(traces[0]["initial"]["emb"], 0);
}

TEST(DlrmInitialiser, StartsWhereTheTableDoes) {
  // With --debug-mode DLRM prints its data first, which consumes 78 draws.
  const nlohmann::json traces = LoadVectors("dlrm_cli_traces.json")["traces"];
  ASSERT_EQ(traces[1]["config"]["debug"], true);
  ExpectTables(traces[1]["initial"]["emb"], 78);
}

// Rows on both sides of the states that are kept every 65,536 draws. Expected bits are from
// Python's MT19937 with numpy's seeding.
TEST(DlrmInitialiser, RowsFarDownHaveTheirBits) {
  const auto initialiser = Make(DlrmInitialiserTable(20'000, 16, 7, 1000)).value();
  const std::vector<RowId> rows = {RowId{0}, RowId{1}, RowId{4096}, RowId{19'999}};
  std::vector<float> got(rows.size() * 16);
  EXPECT_OK(initialiser->Fill(rows, got));
  const uint32_t expected[4][2] = {{0xbbc0e0a9, 0x3b83011a},
                                   {0x3bb39c82, 0xbb2ba50a},
                                   {0xbafca8e3, 0x3be2c21b},
                                   {0x3b8ff716, 0xbbd91658}};
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(std::bit_cast<uint32_t>(got[i * 16]), expected[i][0]) << i;
    EXPECT_EQ(std::bit_cast<uint32_t>(got[i * 16 + 15]), expected[i][1]) << i;
  }
}

TEST(DlrmInitialiser, ATableBeyondTheLastDrawIsRefusedWithAHint) {
  const uint64_t most = NumpyDraws::kMaxDraws / 64;
  EXPECT_OK(Make(DlrmInitialiserTable(most, 64, 123, 0)));
  EXPECT_EQ(Make(DlrmInitialiserTable(most, 64, 123, 1)).status().ToString(),
            "usage: table \"emb\": initialiser \"dlrm\" reaches 8589934592 draws, and 134217728 "
            "rows of 64 columns after draw 1 are more. Use initialiser \"counter\", which has no "
            "limit");
  EXPECT_EQ(Make(DlrmInitialiserTable(uint64_t{1} << 63, 4096, 123, 0)).status().code(),
            StatusCode::kUsage);
  EXPECT_EQ(Make(DlrmInitialiserTable(1, 1, 123, ~uint64_t{0})).status().code(),
            StatusCode::kUsage);
}

TEST(DlrmInitialiser, ASeedNumpyDoesNotTakeIsRefused) {
  EXPECT_EQ(Make(DlrmInitialiserTable(1, 1, uint64_t{1} << 32, 0)).status().ToString(),
            "usage: table \"emb\": seed=4294967296 is above 2^32 - 1, the largest numpy takes. "
            "Choose a smaller one, or initialiser \"counter\"");
}

}  // namespace
}  // namespace rowhouse
