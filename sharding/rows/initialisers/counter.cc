// "counter": uniform in (-b, b), b = the option scale or else sqrt(1/n), n = rows of the table;
// every weight a hash of (seed, table name, row, column) and of nothing else, so that rows may be
// made in any order, by any shard, at any time.
//
//   table key = XXH3_64bits(seed = seed of the table, table name)
//   row key   = XXH3_64bits(seed = table key, row u64 little-endian)
//   word(p)   = Mix64(row key + (p + 1) * kMix64Gamma): columns 2p (low half) and 2p + 1 (high)
//   weight    = (2 * (half >> 8) + 1 - 2^24) * 2^-24 * f32(b)
//
// The first factor is an odd integer below 2^24: exact in f32, symmetric around 0 and never 0.
// These bits are what untouched rows of every model on disk are: they never change.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>
#include <cmath>

#include "common/kernels/target_clones.h"
#include "common/random.h"
#include "sharding/rows/initialiser.h"

namespace rowhouse {
namespace {

static_assert(std::endian::native == std::endian::little);

// Writes 2 * pairs weights, those of word(first_pair) on.
ROWHOUSE_TARGET_CLONES void FillPairs(uint64_t row_key, uint64_t first_pair, size_t pairs,
                                      float scale, float* out) {
  for (size_t p = 0; p < pairs; ++p) {
    const uint64_t word = Mix64(row_key + (first_pair + p + 1) * kMix64Gamma);
    const int32_t even = static_cast<int32_t>((word >> 8 & 0xffffff) * 2 + 1) - (1 << 24);
    const int32_t odd = static_cast<int32_t>((word >> 40) * 2 + 1) - (1 << 24);
    out[2 * p] = static_cast<float>(even) * scale;
    out[2 * p + 1] = static_cast<float>(odd) * scale;
  }
}

class CounterInitialiser final : public Initialiser {
 public:
  explicit CounterInitialiser(const InitialiserContext& context)
      : dim_(context.table.dim),
        rows_(context.table.rows),
        table_key_(XXH3_64bits_withSeed(context.table.name.data(), context.table.name.size(),
                                        context.table.initialiser_options.seed)),
        scale_(static_cast<float>(BoundOf(context.table)) * 0x1p-24f) {}

  Status Fill(std::span<const RowId> rows, std::span<float> out) const override {
    CHECK_EQ(out.size(), rows.size() * dim_);
    for (size_t i = 0; i < rows.size(); ++i) {
      const uint64_t row = Raw(rows[i]);
      CHECK_LT(row, rows_);
      const uint64_t row_key = XXH3_64bits_withSeed(&row, sizeof(row), table_key_);
      FillRow(row_key, out.subspan(i * dim_, dim_));
    }
    return OkStatus();
  }

 private:
  static double BoundOf(const TableSpec& table) {
    const double scale = table.initialiser_options.scale;
    return scale > 0.0 ? scale : std::sqrt(1.0 / static_cast<double>(table.rows));
  }

  void FillRow(uint64_t row_key, std::span<float> row) const {
    const size_t whole_pairs = row.size() / 2;
    FillPairs(row_key, 0, whole_pairs, scale_, row.data());
    if (row.size() % 2 == 0) return;
    float last[2];
    FillPairs(row_key, whole_pairs, 1, scale_, last);
    row.back() = last[0];
  }

  const size_t dim_;
  const uint64_t rows_;
  const uint64_t table_key_;
  const float scale_;
};

REGISTER_MEMBER(AddInitialiser<CounterInitialiser>("counter", {.takes = {"initial_scale"}}));

}  // namespace
}  // namespace rowhouse
