// The kernels of bags against plain loops, bit for bit: as the product calls them, and their body
// for each width of vectors that this machine can run. Those of quantised rows against plain loops
// over the floats that the rows stand for.
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

#include "common/kernels/bag_bodies.h"
#include "common/kernels/embedding_bag.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

struct Pooled {
  std::vector<float> out;
  std::vector<uint32_t> winners;  // of max
};

#define ROWHOUSE_PLAIN __attribute__((noinline, optimize("no-tree-vectorize")))

ROWHOUSE_PLAIN Pooled PlainSums(const BagView& bags, std::span<const float> rows, size_t dim) {
  Pooled pooled{.out = std::vector<float>(bags.bags() * dim, 0.0f)};
  for (size_t b = 0; b < bags.bags(); ++b) {
    for (size_t p = bags.offsets[b]; p < bags.offsets[b + 1]; ++p) {
      const float weight = bags.weights.empty() ? 1.0f : bags.weights[p];
      for (size_t c = 0; c < dim; ++c) {
        pooled.out[b * dim + c] += weight * rows[bags.slots[p] * dim + c];
      }
    }
  }
  return pooled;
}

ROWHOUSE_PLAIN Pooled PlainMaxima(const BagView& bags, std::span<const float> rows, size_t dim) {
  Pooled pooled{.out = std::vector<float>(bags.bags() * dim, 0.0f),
                .winners = std::vector<uint32_t>(bags.bags() * dim, kNoWinner)};
  for (size_t b = 0; b < bags.bags(); ++b) {
    for (uint32_t p = bags.offsets[b]; p < bags.offsets[b + 1]; ++p) {
      for (size_t c = 0; c < dim; ++c) {
        const float value = rows[bags.slots[p] * dim + c];
        const size_t to = b * dim + c;
        if (pooled.winners[to] != kNoWinner && !(value > pooled.out[to])) continue;
        pooled.out[to] = value;
        pooled.winners[to] = p;
      }
    }
  }
  return pooled;
}

using Kernel = std::function<void(const BagWork&)>;

ROWHOUSE_PLAIN void PoolBy16(const BagWork& work) { PoolByVectors<16>(work); }
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
__attribute__((target("avx2"))) void PoolBy32(const BagWork& work) { PoolByVectors<32>(work); }
__attribute__((target("avx512f"))) void PoolBy64(const BagWork& work) { PoolByVectors<64>(work); }
#endif

std::vector<Kernel> BagKernels() {
  std::vector<Kernel> kernels = {PoolBy16};
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  if (__builtin_cpu_supports("avx2")) kernels.push_back(PoolBy32);
  if (__builtin_cpu_supports("avx512f")) kernels.push_back(PoolBy64);
#endif
  return kernels;
}

std::vector<uint32_t> BitsOf(std::span<const float> values) {
  std::vector<uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

void ExpectSameBits(const Pooled& got, const Pooled& want, const std::string& what) {
  EXPECT_EQ(BitsOf(got.out), BitsOf(want.out)) << what;
  EXPECT_EQ(got.winners, want.winners) << what;
}

// `rows`: `floats`, or quantised rows that stand for them.
void ExpectBitsOfPlainLoops(const BagView& bags, const RowsView& rows,
                            std::span<const float> floats, size_t dim, Pooling pooling) {
  const bool is_max = pooling == Pooling::kMax;
  const Pooled want = is_max ? PlainMaxima(bags, floats, dim) : PlainSums(bags, floats, dim);
  const std::string what = fmt::format("{} bags, {} lookups, dim {}, {} bits", bags.bags(),
                                       bags.offsets.back() - bags.offsets.front(), dim, rows.bits);
  Pooled got{.out = std::vector<float>(want.out.size(), 7.0f)};
  PoolBags(bags, {.pooling = pooling}, rows, dim, got.out, &got.winners);
  ExpectSameBits(got, want, what);
  // As parts of records.
  const size_t row_bytes = BytesOfRow(rows.bits, dim), stride = row_bytes + 20;
  std::vector<std::byte> records(rows.bytes.size() / row_bytes * stride, std::byte{0x7f});
  for (size_t r = 0; r * stride < records.size(); ++r) {
    std::ranges::copy(rows.bytes.subspan(r * row_bytes, row_bytes), &records[r * stride]);
  }
  PoolBags(bags, {.pooling = pooling}, {records, rows.bits, stride}, dim, got.out, &got.winners);
  ExpectSameBits(got, want, what + " in records");
  if (is_max && rows.bits != kFloatBits) return;  // They are unpacked, and then floats.
  const size_t lookups = bags.offsets.back();
  for (const Kernel& kernel : BagKernels()) {
    for (const size_t prefetch_end : {size_t{0}, lookups - std::min(lookups, kRowsAhead)}) {
      got.out.assign(want.out.size(), 7.0f);
      got.winners.assign(want.winners.size(), 7);
      kernel({.bags = bags,
              .rows = rows.bytes.data(),
              .bits = rows.bits,
              .row_bytes = BytesOfRow(rows.bits, dim),
              .stride = BytesOfRow(rows.bits, dim),
              .dim = dim,
              .out = got.out.data(),
              .winners = is_max ? got.winners.data() : nullptr,
              .prefetch_end = prefetch_end});
      ExpectSameBits(got, want, what);
    }
  }
}

constexpr size_t kTestedBags = 33;

std::vector<uint32_t> OffsetsOf(const std::vector<size_t>& lengths, uint32_t first) {
  std::vector<uint32_t> offsets = {first};
  for (const size_t length : lengths) {
    offsets.push_back(offsets.back() + static_cast<uint32_t>(length));
  }
  return offsets;
}

// Bags of one length, of mixed ones (some empty), and of the middle of a longer batch.
std::vector<std::vector<uint32_t>> AllOffsets() {
  std::vector<std::vector<uint32_t>> all;
  for (const size_t k : {0, 1, 2, 4, 20, 100}) {
    all.push_back(OffsetsOf(std::vector<size_t>(kTestedBags, k), 0));
  }
  all.push_back(OffsetsOf(std::vector<size_t>(kTestedBags, 1), 100'000));
  all.push_back(OffsetsOf(std::vector<size_t>(kTestedBags, 4), 100'000));
  std::vector<size_t> mixed;
  for (size_t b = 0; b < kTestedBags; ++b) mixed.push_back(b * 7 % 6);
  all.push_back(OffsetsOf(mixed, 0));
  all.push_back(OffsetsOf(mixed, 100'000));
  return all;
}

class BagKernelTest : public testing::Test {
 protected:
  void ExpectEverywhere(Pooling pooling, bool weighted, const std::function<float()>& value) {
    for (const size_t dim : {1u, 3u, 4u, 16u, 17u, 64u, 83u, 256u}) {
      // The second table is too large for the cache: its rows are prefetched.
      for (const size_t count : {size_t{40}, (size_t{1} << 18) / dim + 100}) {
        std::vector<float> rows(count * dim);
        std::ranges::generate(rows, value);
        for (const std::vector<uint32_t>& offsets : AllOffsets()) {
          std::vector<uint32_t> slots(offsets.back());
          std::ranges::generate(slots, [&] { return static_cast<uint32_t>(random_() % count); });
          std::vector<float> weights(weighted ? slots.size() : 0);
          std::ranges::generate(weights, [&] { return uniform_(random_); });
          ExpectBitsOfPlainLoops({.offsets = offsets, .slots = slots, .weights = weights}, rows,
                                 rows, dim, pooling);
        }
      }
    }
  }

  std::mt19937 random_{3};
  std::uniform_real_distribution<float> uniform_{-1.0f, 1.0f};
};

TEST_F(BagKernelTest, SumsHaveTheBitsOfAPlainLoop) {
  // A sum starts from +0: that of one -0 is +0.
  ExpectEverywhere(Pooling::kSum, /*weighted=*/false,
                   [this] { return random_() % 8 == 0 ? -0.0f : uniform_(random_); });
}

TEST_F(BagKernelTest, WeightedSumsHaveTheBitsOfAPlainLoop) {
  ExpectEverywhere(Pooling::kSum, /*weighted=*/true, [this] { return uniform_(random_); });
}

TEST_F(BagKernelTest, MeansAreSumsDividedByLookups) {
  constexpr size_t kDim = 17;
  const std::vector<uint32_t> offsets = OffsetsOf({3, 0, 1, 20}, 0);
  std::vector<uint32_t> slots(offsets.back());
  std::iota(slots.begin(), slots.end(), 0u);
  std::vector<float> rows(slots.size() * kDim), means(4 * kDim);
  std::ranges::generate(rows, [this] { return uniform_(random_); });
  const BagView bags = {.offsets = offsets, .slots = slots};
  PoolBags(bags, {.pooling = Pooling::kMean}, rows, kDim, means, nullptr);
  Pooled want = PlainSums(bags, rows, kDim);
  for (size_t c = 0; c < kDim; ++c) {
    want.out[c] /= 3.0f;
    want.out[3 * kDim + c] /= 20.0f;
  }
  EXPECT_EQ(BitsOf(means), BitsOf(want.out));
}

TEST_F(BagKernelTest, MaximaAndWinnersHaveTheBitsOfAPlainLoop) {
  // Few values, so that most bags have ties.
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {
      -1.0f, -0.0f, 0.0f, 0.5f, -infinity, infinity, std::numeric_limits<float>::quiet_NaN()};
  ExpectEverywhere(Pooling::kMax, /*weighted=*/false,
                   [&] { return values[random_() % values.size()]; });
}

// A table of `count` quantised rows, and the floats that they stand for.
struct QuantisedTable {
  std::vector<std::byte> rows;
  std::vector<float> floats;
};

QuantisedTable MakeQuantised(uint32_t bits, size_t count, size_t dim,
                             const std::function<float()>& value) {
  QuantisedTable table{.rows = std::vector<std::byte>(count * BytesOfRow(bits, dim)),
                       .floats = std::vector<float>(count * dim)};
  std::ranges::generate(table.floats, value);
  EXPECT_OK(QuantiseRows(bits, 0, table.floats, dim, table.rows));
  DequantiseRows(bits, table.rows, dim, table.floats);
  return table;
}

TEST_F(BagKernelTest, QuantisedRowsArePooledToTheBitsOfTheirFloats) {
  for (const uint32_t bits : kQuantisedBits) {
    for (const size_t dim : {1u, 3u, 4u, 7u, 17u, 64u, 83u}) {
      // Numbers of very different sizes: scales and numbers that are subnormal in f16, too.
      const QuantisedTable table = MakeQuantised(bits, 40, dim, [this] {
        return std::ldexp(uniform_(random_), -static_cast<int>(random_() % 24));
      });
      const RowsView rows(table.rows, bits);
      for (const std::vector<uint32_t>& offsets : AllOffsets()) {
        std::vector<uint32_t> slots(offsets.back());
        std::ranges::generate(slots, [&] { return static_cast<uint32_t>(random_() % 40); });
        std::vector<float> weights(slots.size());
        std::ranges::generate(weights, [&] { return uniform_(random_); });
        const BagView bags = {.offsets = offsets, .slots = slots};
        ExpectBitsOfPlainLoops(bags, rows, table.floats, dim, Pooling::kSum);
        ExpectBitsOfPlainLoops({.offsets = offsets, .slots = slots, .weights = weights}, rows,
                               table.floats, dim, Pooling::kSum);
        if (offsets.front() > 0) continue;
        ExpectBitsOfPlainLoops(bags, rows, table.floats, dim, Pooling::kMax);
      }
    }
  }
}

TEST_F(BagKernelTest, QuantisedRowsHaveEveryPoolingOfTheirFloats) {
  constexpr size_t kDim = 19;
  // Of the middle of a longer batch.
  const std::vector<uint32_t> offsets = OffsetsOf({3, 0, 1, 20}, 70);
  for (const uint32_t bits : kQuantisedBits) {
    // Too large for the cache: its rows are prefetched.
    const size_t count = (size_t{1} << 20) / BytesOfRow(bits, kDim) + 100;
    const QuantisedTable table =
        MakeQuantised(bits, count, kDim, [this] { return uniform_(random_); });
    std::vector<uint32_t> slots(offsets.back());
    std::ranges::generate(slots, [&] { return static_cast<uint32_t>(random_() % count); });
    const BagView bags = {.offsets = offsets, .slots = slots};
    for (const Pooling pooling : {Pooling::kSum, Pooling::kMean, Pooling::kMax}) {
      for (const bool exact : {false, true}) {
        Pooled got{.out = std::vector<float>(bags.bags() * kDim)}, want = got;
        const BagOptions options = {.pooling = pooling, .exact = exact};
        PoolBags(bags, options, {table.rows, bits}, kDim, got.out, &got.winners);
        PoolBags(bags, options, table.floats, kDim, want.out, &want.winners);
        ExpectSameBits(got, want, fmt::format("{} bits", bits));
      }
    }
    std::vector<float> got(slots.size() * kDim), want(got.size());
    GatherRows(slots, {table.rows, bits}, kDim, got);
    GatherRows(slots, table.floats, kDim, want);
    EXPECT_EQ(BitsOf(got), BitsOf(want));
  }
}

TEST_F(BagKernelTest, GatheredRowsAreCopies) {
  for (const size_t dim : {1u, 17u, 256u}) {
    const size_t count = (size_t{1} << 18) / dim + 100;
    std::vector<float> rows(count * dim);
    std::ranges::generate(rows, [this] { return random_() % 8 == 0 ? -0.0f : uniform_(random_); });
    for (const size_t lookups : {0, 5, 16, 17, 300}) {
      std::vector<uint32_t> slots(lookups);
      std::ranges::generate(slots, [&] { return static_cast<uint32_t>(random_() % count); });
      std::vector<float> out(lookups * dim), want;
      GatherRows(slots, rows, dim, out);
      for (const uint32_t slot : slots) {
        want.insert(want.end(), &rows[slot * dim], &rows[slot * dim] + dim);
      }
      EXPECT_EQ(BitsOf(out), BitsOf(want)) << lookups << " rows of dim " << dim;
    }
  }
}

}  // namespace
}  // namespace rowhouse
