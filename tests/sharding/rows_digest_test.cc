#include "sharding/rows/rows_digest.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <random>
#include <set>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

struct StoredRow {
  RowId row{};
  uint16_t first_column = 0;
  RecordLayout layout;
  std::vector<float> floats;  // weights, state
  RecordTrailer trailer;

  std::vector<std::byte> Record() const {
    std::vector<std::byte> record(layout.bytes());
    std::memcpy(record.data(), floats.data(), floats.size() * sizeof(float));
    layout.set_trailer(record.data(), trailer);
    return record;
  }
};

RowsDigest DigestOf(const DigestedTable& table, const std::vector<StoredRow>& rows) {
  RowsDigest digest;
  for (const StoredRow& row : rows) {
    digest.Add(table, row.row, row.first_column, row.layout, row.Record().data());
  }
  return digest;
}

const DigestedTable kAdagradTable("user_id", {.planes = 1, .row_floats = 0});
const DigestedTable kRowwiseTable("user_id", {.planes = 0, .row_floats = 1});

const StoredRow kRow{.row = RowId{5},
                     .first_column = 0,
                     .layout = {.dim = 2, .state_floats = 2},
                     .floats = {1.0f, -2.0f, 0.5f, 0.25f},
                     .trailer = {.lsn = 9, .last_step = 8, .frequency = 7}};

TEST(RowsDigest, OfNoRowsIsZero) {
  EXPECT_EQ(RowsDigest().hex(), "00000000000000000000000000000000");
}

// If this fails, digests in old manifests and reports mean something else.
TEST(RowsDigest, GoldenValue) {
  EXPECT_EQ(DigestOf(kAdagradTable, {kRow}).hex(), "b30a3158357c3087c54269befd0a2193");
  StoredRow rowwise = kRow;
  rowwise.layout.state_floats = 1;
  rowwise.floats = {1.0f, -2.0f, 0.5f};
  EXPECT_EQ(DigestOf(kRowwiseTable, {rowwise}).hex(), "04650e2a336a9237f7a4761ff8e39c61");
}

// The definition in the header, written out byte by byte.
TEST(RowsDigest, IsTheSumTheHeaderDefines) {
  const uint64_t seed = XXH3_64bits("user_id", 7);
  const uint8_t hashed[4][16] = {
      {5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x00, 0x00, 0x80, 0x3f},   // Weight 1.0
      {5, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0x00, 0x00, 0x00, 0xc0},   // Weight -2.0
      {5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0x00, 0x00, 0x00, 0x3f},   // Plane 0: 0.5
      {5, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0x00, 0x00, 0x80, 0x3e}};  // Plane 0: 0.25
  RowsDigest expected;
  for (const auto& bytes : hashed) {
    const XXH128_hash_t hash = XXH3_128bits_withSeed(bytes, 16, seed);
    expected.Merge(RowsDigest(hash.high64, hash.low64));
  }
  EXPECT_EQ(DigestOf(kAdagradTable, {kRow}), expected);
}

std::vector<StoredRow> RandomRows(size_t count, uint32_t dim, uint32_t state_floats) {
  std::mt19937 generator(3);
  std::normal_distribution<float> normal;
  std::vector<StoredRow> rows;
  for (size_t i = 0; i < count; ++i) {
    StoredRow row;
    row.row = RowId{i * 1000};
    row.layout = {.dim = dim, .state_floats = state_floats};
    for (size_t f = 0; f < dim + state_floats; ++f) row.floats.push_back(normal(generator));
    rows.push_back(row);
  }
  return rows;
}

TEST(RowsDigest, DoesNotDependOnOrderOrOnHowRowsAreSpread) {
  std::vector<StoredRow> rows = RandomRows(50, 8, 8);
  const RowsDigest whole = DigestOf(kAdagradTable, rows);
  std::mt19937 generator(4);
  for (int trial = 0; trial < 20; ++trial) {
    std::shuffle(rows.begin(), rows.end(), generator);
    const size_t cut = generator() % rows.size();
    RowsDigest first = DigestOf(kAdagradTable, {rows.begin(), rows.begin() + cut});
    first.Merge(DigestOf(kAdagradTable, {rows.begin() + cut, rows.end()}));
    EXPECT_EQ(first, whole);
  }
}

// Columns [0, 16) and [16, 24) of each row on two shards.
std::vector<StoredRow> CutAt16(const std::vector<StoredRow>& rows, StateShape shape) {
  std::vector<StoredRow> cut;
  for (const StoredRow& row : rows) {
    const size_t dim = row.layout.dim;
    for (const auto& [begin, end] : {std::pair<size_t, size_t>{0, 16}, {16, dim}}) {
      StoredRow part;
      part.row = row.row;
      part.first_column = static_cast<uint16_t>(begin);
      part.layout.dim = static_cast<uint32_t>(end - begin);
      part.layout.state_floats = shape.planes * part.layout.dim + shape.row_floats;
      for (size_t plane = 0; plane <= shape.planes; ++plane) {
        part.floats.insert(part.floats.end(), row.floats.begin() + plane * dim + begin,
                           row.floats.begin() + plane * dim + end);
      }
      part.floats.insert(part.floats.end(), row.floats.end() - shape.row_floats, row.floats.end());
      cut.push_back(part);
    }
  }
  return cut;
}

TEST(RowsDigest, DoesNotDependOnColumnCuts) {
  const std::vector<StoredRow> adagrad = RandomRows(20, 24, 24);
  EXPECT_EQ(DigestOf(kAdagradTable, CutAt16(adagrad, kAdagradTable.state_shape())),
            DigestOf(kAdagradTable, adagrad));
  // 17 columns leave a slice of one: its single state float must not pass for a plane.
  const std::vector<StoredRow> rowwise = RandomRows(20, 17, 1);
  EXPECT_EQ(DigestOf(kRowwiseTable, CutAt16(rowwise, kRowwiseTable.state_shape())),
            DigestOf(kRowwiseTable, rowwise));
}

TEST(RowsDigest, DoesNotDependOnTheTrailer) {
  StoredRow other = kRow;
  other.trailer = {.lsn = 1, .last_step = 2, .frequency = 3};
  EXPECT_EQ(DigestOf(kAdagradTable, {other}), DigestOf(kAdagradTable, {kRow}));
}

TEST(RowsDigest, EveryBitRowColumnPlaceAndNameCounts) {
  std::set<std::string> digests = {DigestOf(kAdagradTable, {kRow}).hex()};
  size_t variants = 1;
  const auto expect_new = [&](const DigestedTable& table, const StoredRow& row) {
    digests.insert(DigestOf(table, {row}).hex());
    EXPECT_EQ(digests.size(), ++variants);
  };
  for (size_t f = 0; f < kRow.floats.size(); ++f) {
    for (int bit = 0; bit < 32; ++bit) {
      StoredRow flipped = kRow;
      flipped.floats[f] =
          std::bit_cast<float>(std::bit_cast<uint32_t>(kRow.floats[f]) ^ (uint32_t{1} << bit));
      expect_new(kAdagradTable, flipped);
    }
  }
  StoredRow swapped = kRow;
  std::swap(swapped.floats[0], swapped.floats[1]);
  expect_new(kAdagradTable, swapped);
  std::swap(swapped.floats[1], swapped.floats[2]);
  expect_new(kAdagradTable, swapped);
  StoredRow moved = kRow;
  moved.row = RowId{6};
  expect_new(kAdagradTable, moved);
  moved = kRow;
  moved.first_column = 16;
  expect_new(kAdagradTable, moved);
  expect_new(DigestedTable("user_ie", {.planes = 1, .row_floats = 0}), kRow);
}

TEST(RowsDigest, SurvivesTheWire) {
  const RowsDigest digest = DigestOf(kAdagradTable, {kRow});
  EXPECT_EQ(RowsDigest(digest.high(), digest.low()), digest);
}

}  // namespace
}  // namespace rowhouse
