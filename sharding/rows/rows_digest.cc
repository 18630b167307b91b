#define XXH_INLINE_ALL  // A call of the library per float costs twice the hash.
#include "sharding/rows/rows_digest.h"

#include <fmt/format.h>
#include <glog/logging.h>
#include <xxhash.h>

#include <bit>
#include <charconv>

#include "sharding/rows/record_weights.h"

namespace rowhouse {
namespace {

constexpr uint16_t kWeights = 0;
constexpr uint16_t kFirstPlane = 1;
constexpr uint16_t kFirstRowFloat = 0x8000;

static_assert(std::endian::native == std::endian::little);

}  // namespace

DigestedTable::DigestedTable(std::string_view name, StateShape state_shape)
    : name_hash_(XXH3_64bits(name.data(), name.size())), state_shape_(state_shape) {}

void RowsDigest::AddFloats(uint64_t name_hash, RowId row, size_t first_column, uint16_t part,
                           std::span<const float> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    // Two whole words: pieces of 2 and 4 bytes would be waited for before they can be hashed.
    const uint64_t hashed[2] = {Raw(row), (first_column + i) | uint64_t{part} << 16 |
                                              uint64_t{std::bit_cast<uint32_t>(values[i])} << 32};
    const XXH128_hash_t hash = XXH3_128bits_withSeed(hashed, sizeof(hashed), name_hash);
    sum_ += static_cast<unsigned __int128>(hash.high64) << 64 | hash.low64;
  }
}

void RowsDigest::Add(const DigestedTable& table, RowId row, uint16_t first_column,
                     const RecordLayout& layout, const std::byte* record) {
  const StateShape shape = table.state_shape();
  CHECK_EQ(layout.state_floats, shape.planes * layout.dim + shape.row_floats);
  if (layout.precision == Precision::kF32) {
    AddFloats(table.name_hash(), row, first_column, kWeights, layout.weights(record));
  } else {
    float scratch[TableSpec::kMaxDim];
    const std::span<float> weights(scratch, layout.dim);
    ReadWeights(layout, record, weights);
    AddFloats(table.name_hash(), row, first_column, kWeights, weights);
  }
  const std::span<const float> state = layout.state(record);
  for (uint16_t plane = 0; plane < shape.planes; ++plane) {
    AddFloats(table.name_hash(), row, first_column, static_cast<uint16_t>(kFirstPlane + plane),
              state.subspan(size_t{plane} * layout.dim, layout.dim));
  }
  if (first_column != 0) return;
  const std::span<const float> of_row = state.last(shape.row_floats);
  for (size_t j = 0; j < of_row.size(); ++j) {
    AddFloats(table.name_hash(), row, 0, static_cast<uint16_t>(kFirstRowFloat + j),
              of_row.subspan(j, 1));
  }
}

Result<RowsDigest> RowsDigest::FromHex(const std::string& hex) {
  uint64_t halves[2] = {};
  for (size_t i = 0; i < 2; ++i) {
    const std::string half = hex.size() == 32 ? hex.substr(16 * i, 16) : "";
    const auto [end, error] =
        std::from_chars(half.data(), half.data() + half.size(), halves[i], 16);
    if (half.empty() || error != std::errc() || end != half.data() + half.size()) {
      return CorruptionError("\"{}\" is no digest of rows: 32 hex digits are due", hex);
    }
  }
  return RowsDigest(halves[0], halves[1]);
}

std::string RowsDigest::hex() const { return fmt::format("{:016x}{:016x}", high(), low()); }

}  // namespace rowhouse
