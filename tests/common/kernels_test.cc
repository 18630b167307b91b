// The kernels against plain scalar loops, bit for bit: the dispatched form, and the same bodies
// compiled for each instruction set this machine has (the dispatcher alone would test only one).
#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "common/kernels/reduction_bodies.h"
#include "common/kernels/reductions.h"
#include "common/kernels/row_update_bodies.h"
#include "common/kernels/row_updates.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

// ---- Scalar references ----------------------------------------------------------------------
#define ROWHOUSE_SCALAR __attribute__((noinline, optimize("no-tree-vectorize")))

ROWHOUSE_SCALAR float ReferenceSumOfSquares(std::span<const float> row) {
  float sum = 0.0f;
  for (size_t first = 0; first < row.size(); first += 16) {
    std::vector<float> lanes(16, 0.0f);
    for (size_t i = 0; i < 16 && first + i < row.size(); ++i) {
      lanes[i] = row[first + i] * row[first + i];
    }
    for (size_t width = 8; width > 0; width /= 2) {
      for (size_t i = 0; i < width; ++i) lanes[i] += lanes[i + width];
    }
    sum += lanes[0];
  }
  return sum;
}

struct Rows {
  std::vector<float> g, w, h, k = {};
};

ROWHOUSE_SCALAR Rows ReferenceAdagrad(Rows rows, float rate, float epsilon) {
  for (size_t i = 0; i < rows.g.size(); ++i) {
    rows.h[i] += rows.g[i] * rows.g[i];
    rows.w[i] -= rate * (rows.g[i] / (std::sqrt(rows.h[i]) + epsilon));
  }
  return rows;
}

ROWHOUSE_SCALAR Rows ReferenceSgd(Rows rows, float rate) {
  for (size_t i = 0; i < rows.g.size(); ++i) rows.w[i] -= rate * rows.g[i];
  return rows;
}

ROWHOUSE_SCALAR Rows ReferenceRowwiseAdagrad(Rows rows, float rate, float epsilon) {
  rows.h[0] += ReferenceSumOfSquares(rows.g) / static_cast<float>(rows.g.size());
  const float divisor = std::sqrt(rows.h[0]) + epsilon;
  for (size_t i = 0; i < rows.g.size(); ++i) rows.w[i] -= rate * (rows.g[i] / divisor);
  return rows;
}

ROWHOUSE_SCALAR Rows ReferenceAdd(Rows rows) {
  for (size_t i = 0; i < rows.g.size(); ++i) rows.w[i] += rows.g[i];
  return rows;
}

ROWHOUSE_SCALAR Rows ReferenceDecay(Rows rows, float decay) {
  for (size_t i = 0; i < rows.g.size(); ++i) rows.h[i] = rows.g[i] + decay * rows.w[i];
  return rows;
}

ROWHOUSE_SCALAR Rows ReferenceMomentum(Rows rows, float rate, float momentum) {
  for (size_t i = 0; i < rows.g.size(); ++i) {
    rows.h[i] = momentum * rows.h[i] + rows.g[i];
    rows.w[i] -= rate * rows.h[i];
  }
  return rows;
}

ROWHOUSE_SCALAR Rows ReferenceAdam(Rows rows, const AdamFactors& f) {
  for (size_t i = 0; i < rows.g.size(); ++i) {
    rows.k[i] *= f.keep_mean;
    rows.k[i] += (rows.g[i] - rows.k[i]) * f.take_mean;
    rows.h[i] *= f.keep_square;
    rows.h[i] += (rows.g[i] * rows.g[i] - rows.h[i]) * f.take_square;
    rows.w[i] *= f.keep_weight;
    rows.w[i] -= f.rate * (rows.k[i] / (std::sqrt(rows.h[i]) * f.root_scale + f.epsilon));
  }
  return rows;
}

ROWHOUSE_SCALAR Rows ReferenceFtrl(Rows rows, const FtrlFactors& f) {
  for (size_t i = 0; i < rows.g.size(); ++i) {
    float &w = rows.w[i], &q = rows.k[i], &n = rows.h[i];
    n += rows.g[i] * rows.g[i];
    const float divisor = (f.beta + std::sqrt(n)) + f.rate * f.l2;
    const float r = divisor > 0 ? f.rate / divisor : 0;
    float p = q;
    if (w > 0) p = f.l1;
    if (w < 0) p = -f.l1;
    const float up = w + r * ((p - rows.g[i]) - f.l1), down = w + r * ((p - rows.g[i]) + f.l1);
    if (up > 0 || down < 0) {
      w = up > 0 ? up : down;
      q = 0;
    } else {
      if (r > 0) q = std::clamp(w / r + (p - rows.g[i]), -f.l1, f.l1);
      w = 0;
    }
  }
  return rows;
}

// ---- The bodies for one instruction set -----------------------------------------------------
struct Kernels {
  std::string name;
  bool supported;
  float (*sum_of_squares)(const float*, size_t);
  void (*add)(const float*, float*, size_t);
  void (*sgd)(float, const float*, float*, size_t);
  void (*adagrad)(float, float, const float*, float*, float*, size_t);
  void (*rowwise_adagrad)(float, float, size_t, const UpdatedRow*, size_t);
  void (*decay)(float, const float*, const float*, float*, size_t);
  void (*momentum)(float, float, const float*, float*, float*, size_t);
  void (*adam)(const AdamFactors&, const float*, float*, float*, float*, size_t);
  void (*ftrl)(const FtrlFactors&, const float*, float*, float*, float*, size_t);
};

#define ROWHOUSE_KERNELS_FOR(NAME, TARGET)                                                         \
  struct NAME {                                                                                    \
    TARGET static float Sum(const float* r, size_t n) {                                            \
      return kernel_bodies::SumOfSquares(r, n);                                                    \
    }                                                                                              \
    TARGET static void Add(const float* a, float* s, size_t n) { kernel_bodies::AddRow(a, s, n); } \
    TARGET static void Sgd(float rate, const float* g, float* w, size_t n) {                       \
      kernel_bodies::SgdUpdate(rate, g, w, n);                                                     \
    }                                                                                              \
    TARGET static void Adagrad(float rate, float e, const float* g, float* w, float* h,            \
                               size_t n) {                                                         \
      kernel_bodies::AdagradUpdate(rate, e, g, w, h, n);                                           \
    }                                                                                              \
    TARGET static void Rowwise(float rate, float e, size_t n, const UpdatedRow* rows,              \
                               size_t count) {                                                     \
      kernel_bodies::RowwiseAdagradUpdate(rate, e, n, rows, count);                                \
    }                                                                                              \
    TARGET static void Decay(float d, const float* g, const float* w, float* s, size_t n) {        \
      kernel_bodies::AddDecay(d, g, w, s, n);                                                      \
    }                                                                                              \
    TARGET static void Momentum(float rate, float m, const float* g, float* w, float* v,           \
                                size_t n) {                                                        \
      kernel_bodies::MomentumUpdate(rate, m, g, w, v, n);                                          \
    }                                                                                              \
    TARGET static void Adam(const AdamFactors& f, const float* g, float* w, float* m, float* v,    \
                            size_t n) {                                                            \
      kernel_bodies::AdamUpdate(f, g, w, m, v, n);                                                 \
    }                                                                                              \
    TARGET static void Ftrl(const FtrlFactors& f, const float* g, float* w, float* q, float* s,    \
                            size_t n) {                                                            \
      kernel_bodies::FtrlUpdate(f, g, w, q, s, n);                                                 \
    }                                                                                              \
    static Kernels All(bool supported) {                                                           \
      return {#NAME,    supported, &Sum,      &Add,  &Sgd, &Adagrad,                               \
              &Rowwise, &Decay,    &Momentum, &Adam, &Ftrl};                                       \
    }                                                                                              \
  }

ROWHOUSE_KERNELS_FOR(Base, );
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
ROWHOUSE_KERNELS_FOR(Avx2, __attribute__((target("avx2,fma"))));
ROWHOUSE_KERNELS_FOR(Avx512, __attribute__((target("avx512f,fma"))));
#endif

// What the product calls.
struct Dispatched {
  static float Sum(const float* r, size_t n) { return SumOfSquares({r, n}); }
  static void Add(const float* a, float* s, size_t n) { AddRow({a, n}, {s, n}); }
  static void Sgd(float rate, const float* g, float* w, size_t n) {
    SgdUpdate(rate, {g, n}, {w, n});
  }
  static void Adagrad(float rate, float e, const float* g, float* w, float* h, size_t n) {
    AdagradUpdate(rate, e, {g, n}, {w, n}, {h, n});
  }
  static void Rowwise(float rate, float e, size_t n, const UpdatedRow* rows, size_t count) {
    RowwiseAdagradUpdate(rate, e, n, {rows, count});
  }
  static void Decay(float d, const float* g, const float* w, float* s, size_t n) {
    AddDecay(d, {g, n}, {w, n}, {s, n});
  }
  static void Momentum(float rate, float m, const float* g, float* w, float* v, size_t n) {
    MomentumUpdate(rate, m, {g, n}, {w, n}, {v, n});
  }
  static void Adam(const AdamFactors& f, const float* g, float* w, float* m, float* v, size_t n) {
    AdamUpdate(f, {g, n}, {w, n}, {m, n}, {v, n});
  }
  static void Ftrl(const FtrlFactors& f, const float* g, float* w, float* q, float* s, size_t n) {
    FtrlUpdate(f, {g, n}, {w, n}, {q, n}, {s, n});
  }
  static Kernels All() {
    return {"Dispatched", true,   &Sum,      &Add,  &Sgd, &Adagrad,
            &Rowwise,     &Decay, &Momentum, &Adam, &Ftrl};
  }
};

std::vector<Kernels> AllKernels() {
  std::vector<Kernels> all = {Dispatched::All(), Base::All(true)};
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  all.push_back(Avx2::All(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")));
  all.push_back(Avx512::All(__builtin_cpu_supports("avx512f")));
#endif
  return all;
}

// ---- The tests ------------------------------------------------------------------------------
class KernelTest : public testing::TestWithParam<Kernels> {
 protected:
  void SetUp() override {
    if (!GetParam().supported) GTEST_SKIP() << "this CPU has no " << GetParam().name;
  }

  // Values over many magnitudes, so that a changed order of addition shows.
  Rows Random(size_t n) {
    Rows rows;
    std::normal_distribution<float> normal;
    std::uniform_int_distribution<int> exponent(-8, 8);
    for (size_t i = 0; i < n; ++i) {
      rows.g.push_back(std::ldexp(normal(generator_), exponent(generator_)));
      rows.w.push_back(normal(generator_));
      rows.h.push_back(std::abs(normal(generator_)));
      rows.k.push_back(normal(generator_));
    }
    return rows;
  }

  static std::vector<uint32_t> Bits(const std::vector<float>& values) {
    std::vector<uint32_t> bits;
    for (const float value : values) bits.push_back(std::bit_cast<uint32_t>(value));
    return bits;
  }
  static void ExpectSameBits(const Rows& a, const Rows& b) {
    EXPECT_EQ(Bits(a.w), Bits(b.w)) << "weights, size " << a.w.size();
    EXPECT_EQ(Bits(a.h), Bits(b.h)) << "state, size " << a.h.size();
    EXPECT_EQ(Bits(a.k), Bits(b.k)) << "second state, size " << a.k.size();
  }

  std::mt19937 generator_{20240607};
};

TEST_P(KernelTest, SumOfSquaresHasTheBitsOfTheFixedTree) {
  for (size_t n = 0; n <= 300; ++n) {
    const Rows rows = Random(n);
    EXPECT_EQ(std::bit_cast<uint32_t>(GetParam().sum_of_squares(rows.g.data(), n)),
              std::bit_cast<uint32_t>(ReferenceSumOfSquares(rows.g)))
        << "size " << n;
  }
}

TEST_P(KernelTest, UpdatesHaveTheBitsOfScalarLoops) {
  for (size_t n = 0; n <= 200; ++n) {
    const Rows rows = Random(n);
    Rows got = rows;
    GetParam().add(got.g.data(), got.w.data(), n);
    ExpectSameBits(got, ReferenceAdd(rows));
    got = rows;
    GetParam().sgd(0.1f, got.g.data(), got.w.data(), n);
    ExpectSameBits(got, ReferenceSgd(rows, 0.1f));
    got = rows;
    GetParam().adagrad(0.1f, 1e-8f, got.g.data(), got.w.data(), got.h.data(), n);
    ExpectSameBits(got, ReferenceAdagrad(rows, 0.1f, 1e-8f));
    got = rows;
    GetParam().decay(0.3f, got.g.data(), got.w.data(), got.h.data(), n);
    ExpectSameBits(got, ReferenceDecay(rows, 0.3f));
    got = rows;
    GetParam().momentum(0.1f, 0.9f, got.g.data(), got.w.data(), got.h.data(), n);
    ExpectSameBits(got, ReferenceMomentum(rows, 0.1f, 0.9f));
    got = rows;
    const AdamFactors adam{.keep_mean = 0.81f,
                           .keep_square = 0.998f,
                           .root_scale = 1.7f,
                           .keep_weight = 0.99f,
                           .rate = 0.01f};
    GetParam().adam(adam, got.g.data(), got.w.data(), got.k.data(), got.h.data(), n);
    ExpectSameBits(got, ReferenceAdam(rows, adam));
  }
}

TEST_P(KernelTest, RowwiseAdagradHasTheBitsOfScalarLoopsForAnyNumberOfRows) {
  for (const size_t n : {1, 3, 15, 16, 17, 64, 200}) {
    for (const size_t count : {1, 2, 8, 9, 20}) {
      std::vector<Rows> rows;
      std::vector<UpdatedRow> updates;
      for (size_t r = 0; r < count; ++r) rows.push_back(Random(n));
      std::vector<Rows> got = rows;
      for (Rows& row : got) {
        updates.push_back({.gradient = row.g.data(),
                           .weights = row.w.data(),
                           .state = row.h.data(),
                           .missed_steps = 0});
      }
      GetParam().rowwise_adagrad(0.1f, 1e-10f, n, updates.data(), count);
      for (size_t r = 0; r < count; ++r) {
        ExpectSameBits(got[r], ReferenceRowwiseAdagrad(rows[r], 0.1f, 1e-10f));
      }
    }
  }
}

TEST_P(KernelTest, FtrlHasTheBitsOfScalarBranches) {
  for (size_t n = 0; n <= 200; ++n) {
    Rows rows = Random(n);
    for (size_t i = 0; i < n; ++i) {
      rows.k[i] = 0.0f;
      if (i % 3 != 0) continue;  // Every third weight is 0 with some of l1 used up.
      rows.w[i] = 0.0f;
      rows.k[i] = 0.2f * static_cast<float>(i % 5) - 0.4f;
      if (i % 9 == 0) rows.g[i] = rows.h[i] = 0.0f;
    }
    for (const FtrlFactors& f : {FtrlFactors{.rate = 0.1f, .beta = 1.0f, .l1 = 0.5f, .l2 = 0.1f},
                                 FtrlFactors{.rate = 0.1f, .beta = 0.0f, .l1 = 0.5f},
                                 FtrlFactors{.rate = 0.0f, .l1 = 0.5f, .l2 = 0.1f}}) {
      Rows got = rows;
      GetParam().ftrl(f, got.g.data(), got.w.data(), got.k.data(), got.h.data(), n);
      ExpectSameBits(got, ReferenceFtrl(rows, f));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, KernelTest, testing::ValuesIn(AllKernels()),
                         [](const auto& test) { return test.param.name; });

TEST(Reductions, HandComputedTree) {
  // 2^24 + 1 is not a float: where the ones meet before the large value, they survive.
  std::vector<float> row(16, 0.0f);
  row[0] = 4096.0f;  // Its square is 2^24.
  row[1] = 1.0f;
  row[9] = 1.0f;  // Meets lane 1 first: 1 + 1 = 2, and 2^24 + 2 is exact.
  EXPECT_EQ(SumOfSquares(row), 16777218.0f);
  row[9] = 0.0f;
  row[8] = 1.0f;  // Meets lane 0 first and is lost; then lane 1 is lost too.
  EXPECT_EQ(SumOfSquares(row), 16777216.0f);
}

TEST(Reductions, SumsOfBlocksAddUpToTheBitsOfTheWholeRow) {
  std::mt19937 generator(5);
  std::normal_distribution<float> normal;
  std::vector<float> row(150);
  for (float& value : row) value = normal(generator);
  float sum = 0.0f;
  for (size_t first = 0; first < row.size(); first += kReductionColumns) {
    const size_t columns = std::min(kReductionColumns, row.size() - first);
    sum += SumOfSquares(std::span(row).subspan(first, columns));
  }
  EXPECT_EQ(sum, SumOfSquares(row));
}

TEST(Reductions, AnEmptyRowSumsToNothing) { EXPECT_EQ(SumOfSquares({}), 0.0f); }

}  // namespace
}  // namespace rowhouse
