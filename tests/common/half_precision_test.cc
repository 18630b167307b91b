// Conversions of 16-bit floats against hand-made numbers and double arithmetic; stochastic rounding
// against its definition and its statistics; the same bits for each instruction set.
#include "common/kernels/half_precision.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "common/kernels/half_precision_bodies.h"
#include "common/random.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

constexpr float kHalfPrecisionInf = std::numeric_limits<float>::infinity();

struct Format {
  std::string name;
  int exponent_bits, mantissa_bits;
  void (*widen)(std::span<const uint16_t>, std::span<float>);
  void (*to_nearest)(std::span<const float>, std::span<uint16_t>);
  void (*round)(const RoundingDraws&, std::span<const float>, std::span<uint16_t>);
  float max;  // largest finite
  float least_normal;
  float least;  // smallest subnormal

  float Widen(uint16_t half) const {
    float value = 0.0f;
    widen({&half, 1}, {&value, 1});
    return value;
  }
  uint16_t Nearest(float value) const {
    uint16_t half = 0;
    to_nearest({&value, 1}, {&half, 1});
    return half;
  }
  // Of draws 0 .. n - 1 of a key.
  std::vector<uint16_t> Draws(float value, size_t n, uint64_t key = 5) const {
    std::vector<uint16_t> halves(n);
    round({.key = key}, std::vector<float>(n, value), halves);
    return halves;
  }
  double MeanOf(float value, size_t n) const {
    double sum = 0.0;
    for (const uint16_t half : Draws(value, n)) sum += double{Widen(half)};
    return sum / static_cast<double>(n);
  }
};
void PrintTo(const Format& format, std::ostream* out) { *out << format.name; }

// Of a bit pattern, by the definition of the format.
double ValueOf(const Format& format, uint16_t half) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const int exponent = half >> format.mantissa_bits & ((1 << format.exponent_bits) - 1);
  const int mantissa = half & ((1 << format.mantissa_bits) - 1);
  const double sign = half & 0x8000 ? -1.0 : 1.0;
  if (exponent == (1 << format.exponent_bits) - 1) {
    return mantissa == 0 ? sign * double{kHalfPrecisionInf} : std::nan("");
  }
  const int whole = exponent == 0 ? mantissa : mantissa + (1 << format.mantissa_bits);
  return sign * std::ldexp(whole, std::max(exponent, 1) - bias - format.mantissa_bits);
}

class HalfPrecision : public testing::TestWithParam<Format> {};

TEST_P(HalfPrecision, EveryPatternWidensToItsValueAndComesBack) {
  std::vector<uint16_t> halves(1 << 16), back(1 << 16), drawn(1 << 16);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
  std::vector<float> values(1 << 16);
  GetParam().widen(halves, values);
  GetParam().to_nearest(values, back);
  GetParam().round({.key = 99}, values, drawn);
  for (size_t i = 0; i < halves.size(); ++i) {
    const double expected = ValueOf(GetParam(), halves[i]);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(values[i])) << i;
    } else {
      EXPECT_EQ(double{values[i]}, expected) << i;
      EXPECT_EQ(std::signbit(values[i]), i >= 0x8000) << i;
    }
  }
  EXPECT_EQ(back, halves);
  EXPECT_EQ(drawn, halves) << "a value that the format has is not changed by any draw";
}

// Between each two neighbours: the middle goes to the even one, what is just beside it to the
// nearer one. The middle is exact in f32, and so are the points beside it.
TEST_P(HalfPrecision, TheNearestIsTakenAndOfTwoTheEvenOne) {
  const uint16_t last = GetParam().Nearest(GetParam().max);
  for (uint16_t half = 0; half < last; ++half) {
    const double low = ValueOf(GetParam(), half);
    const double high = ValueOf(GetParam(), static_cast<uint16_t>(half + 1));
    const auto middle = static_cast<float>((low + high) / 2);
    ASSERT_EQ(double{middle}, (low + high) / 2);
    const uint16_t even = half % 2 == 0 ? half : static_cast<uint16_t>(half + 1);
    ASSERT_EQ(GetParam().Nearest(middle), even) << half;
    ASSERT_EQ(GetParam().Nearest(-middle), even | 0x8000) << half;
    ASSERT_EQ(GetParam().Nearest(std::nextafter(middle, 0.0f)), half);
    ASSERT_EQ(GetParam().Nearest(std::nextafter(middle, kHalfPrecisionInf)), half + 1);
  }
}

TEST_P(HalfPrecision, FiniteStaysFiniteAndTheRestIsKept) {
  const Format& format = GetParam();
  const float beyond[] = {format.max, std::numeric_limits<float>::max(),
                          std::nextafter(format.max, kHalfPrecisionInf)};
  for (const float value : beyond) {
    EXPECT_EQ(format.Widen(format.Nearest(value)), format.max) << value;
    EXPECT_EQ(format.Widen(format.Nearest(-value)), -format.max) << value;
    for (const uint16_t half : format.Draws(value, 100)) EXPECT_EQ(format.Widen(half), format.max);
  }
  EXPECT_EQ(format.Widen(format.Nearest(kHalfPrecisionInf)), kHalfPrecisionInf);
  EXPECT_EQ(format.Widen(format.Nearest(-kHalfPrecisionInf)), -kHalfPrecisionInf);
  for (const uint16_t half : format.Draws(-kHalfPrecisionInf, 100))
    EXPECT_EQ(format.Widen(half), -kHalfPrecisionInf);
  // Also NaN whose payload lies in the bits that are cut off.
  for (const uint32_t bits : {0x7fc00000u, 0x7f800001u, 0xff800001u, 0x7fffffffu}) {
    const auto nan = std::bit_cast<float>(bits);
    EXPECT_TRUE(std::isnan(format.Widen(format.Nearest(nan)))) << bits;
    for (const uint16_t half : format.Draws(nan, 100)) EXPECT_TRUE(std::isnan(format.Widen(half)));
  }
}

TEST_P(HalfPrecision, DrawsGoToBothNeighboursAndTheirMeanIsTheValue) {
  const Format& format = GetParam();
  constexpr size_t kDraws = 40000;
  for (const float unit : {1.0f, format.least_normal, format.least, format.max / 4}) {
    for (const float times : {1.0f, 1.0013f, 1.7f, 0.3f, 0.01f, -1.0013f, -0.3f}) {
      const float value = times * unit;
      std::vector<uint16_t> halves = format.Draws(value, kDraws);
      std::sort(halves.begin(), halves.end());
      const double a = std::fabs(double{format.Widen(halves.front())});
      const double b = std::fabs(double{format.Widen(halves.back())});
      ASSERT_LE(halves.back() - halves.front(), 1) << value << ": neighbours";
      EXPECT_LE(a, std::fabs(double{value}));
      EXPECT_GE(b, std::fabs(double{value}));
      // Five standard errors of a mean of draws that differ by a step, of at most 1/2 step each.
      const double tolerance = 5.0 * 0.5 * (b - a) / std::sqrt(double{kDraws});
      EXPECT_NEAR(format.MeanOf(value, kDraws), double{value}, tolerance) << value;
    }
  }
}

TEST_P(HalfPrecision, ManySmallUpdatesAreNotLost) {
  const Format& format = GetParam();
  // 1 + 2^-12 is 1 to nearest in both formats; 4096 of them are 1.
  float nearest = 1.0f;
  double sum = 0.0;
  constexpr size_t kRuns = 64;
  std::vector<float> values(kRuns, 1.0f);
  std::vector<uint16_t> halves(kRuns);
  for (uint64_t step = 0; step < 4096; ++step) {
    nearest = format.Widen(format.Nearest(nearest + 0x1p-12f));
    for (float& value : values) value += 0x1p-12f;
    format.round({.key = MixKey(7, step)}, values, halves);
    format.widen(halves, values);
  }
  EXPECT_EQ(nearest, 1.0f);
  for (const float value : values) sum += double{value};
  // Variance of a walk: 4096 draws of p (1 - p) step^2, p = 2^-12 / step.
  const double step = std::ldexp(1.0, -format.mantissa_bits);
  const double error = std::sqrt(4096 * 0x1p-12 * step / double{kRuns});
  EXPECT_NEAR(sum / double{kRuns}, 2.0, 5 * error);
}

// The definition: draw i is the upper half of MixBits(key, i), added below the last bit kept.
TEST_P(HalfPrecision, DrawsAreCountedByTheirNumber) {
  const Format& format = GetParam();
  std::vector<float> values;
  for (int i = 0; i < 300; ++i) values.push_back(1.0f + 0x1p-15f * static_cast<float>(i));
  std::vector<uint16_t> all(values.size());
  format.round({.key = 11, .first = 1000}, values, all);
  for (size_t i = 0; i < values.size(); ++i) {
    const double step = std::ldexp(1.0, -format.mantissa_bits);
    const double below = std::floor((double{values[i]} - 1.0) / step);
    const double part = (double{values[i]} - 1.0) / step - below;
    const double draw = static_cast<double>(MixBits(11, 1000 + i) >> 32) * 0x1p-32;
    const double expected = 1.0 + (below + (draw + part >= 1.0 ? 1 : 0)) * step;
    EXPECT_EQ(double{format.Widen(all[i])}, expected) << i;
  }
  // A cut by columns is the cut of the row.
  std::vector<uint16_t> tail(values.size() - 17);
  format.round({.key = 11, .first = 1017}, std::span(values).subspan(17), tail);
  EXPECT_TRUE(std::equal(tail.begin(), tail.end(), all.begin() + 17));
  EXPECT_NE(format.Draws(1.0013f, 300, 1), format.Draws(1.0013f, 300, 2));
}

INSTANTIATE_TEST_SUITE_P(Formats, HalfPrecision,
                         testing::Values(Format{"bf16", 8, 7, &WidenBf16, &RoundToNearestBf16,
                                                &RoundToBf16, 0x1.fep127f, 0x1p-126f, 0x1p-133f},
                                         Format{"f16", 5, 10, &WidenF16, &RoundToNearestF16,
                                                &RoundToF16, 65504.0f, 0x1p-14f, 0x1p-24f}),
                         [](const auto& test) { return test.param.name; });

// Known patterns: those of IEEE 754's tables, and bf16 as the upper half of f32.
TEST(HalfPrecisionFormats, HandMadeNumbers) {
  const auto to_f16 = [](float value) {
    uint16_t half = 0;
    RoundToNearestF16({&value, 1}, {&half, 1});
    return half;
  };
  EXPECT_EQ(to_f16(1.0f), 0x3c00);
  EXPECT_EQ(to_f16(-2.0f), 0xc000);
  EXPECT_EQ(to_f16(1.0f / 3.0f), 0x3555);
  EXPECT_EQ(to_f16(65504.0f), 0x7bff);
  EXPECT_EQ(to_f16(65519.0f), 0x7bff);
  EXPECT_EQ(to_f16(65536.0f), 0x7bff);
  EXPECT_EQ(to_f16(0x1p-14f), 0x0400);
  EXPECT_EQ(to_f16(0x1.ff8p-15f), 0x03ff);  // largest subnormal
  EXPECT_EQ(to_f16(0x1p-24f), 0x0001);
  EXPECT_EQ(to_f16(0x1p-25f), 0x0000);  // half of the least one: to even
  EXPECT_EQ(to_f16(0x1.000002p-25f), 0x0001);
  EXPECT_EQ(to_f16(0x1.8p-24f), 0x0002);
  EXPECT_EQ(to_f16(-0x1p-149f), 0x8000);
  const auto to_bf16 = [](float value) {
    uint16_t half = 0;
    RoundToNearestBf16({&value, 1}, {&half, 1});
    return half;
  };
  EXPECT_EQ(to_bf16(1.0f), 0x3f80);
  EXPECT_EQ(to_bf16(1.0f / 3.0f), 0x3eab);
  EXPECT_EQ(to_bf16(-0.1f), 0xbdcd);
  EXPECT_EQ(to_bf16(0x1p-133f), 0x0001);
  EXPECT_EQ(to_bf16(0x1p-134f), 0x0000);
}

// Blocks of finite values are rounded by a shorter way than those that hold others.
TEST(HalfPrecisionFormats, AValueIsRoundedAlikeBesideAnyOthers) {
  std::mt19937 generator(12);
  std::vector<float> values(2000);
  for (size_t i = 0; i < values.size(); ++i) {
    auto bits = static_cast<uint32_t>(generator());
    if (i < 1000) bits = (bits & 0xbfffffff);  // below 2
    values[i] = std::bit_cast<float>(bits);
  }
  values[700] = 0x1.fefffep127f;  // the last that is not cut down
  values[1500] = std::nextafter(values[700], kHalfPrecisionInf);
  std::vector<uint16_t> together(values.size());
  RoundToNearestBf16(values, together);
  for (size_t i = 0; i < values.size(); ++i) {
    float in_place = values[i];
    RoundToNearestBf16({&in_place, 1});
    EXPECT_EQ(together[i], std::bit_cast<uint32_t>(in_place) >> 16) << i;
  }
  EXPECT_EQ(together[700], 0x7f7f);
  EXPECT_EQ(together[1500], 0x7f7f);
}

TEST(HalfPrecisionFormats, InPlaceAValueBecomesTheNearestBf16) {
  const auto rounded = [](float value) {
    RoundToNearestBf16({&value, 1});
    return value;
  };
  EXPECT_EQ(rounded(1.0f + 0x1p-8f), 1.0f) << "a tie goes to the even one";
  EXPECT_EQ(rounded(1.0f + 0x3p-8f), 1.0f + 0x1p-6f) << "and so does this";
  EXPECT_EQ(rounded(1.0f + 0x1.002p-8f), 1.0f + 0x1p-7f);
  EXPECT_EQ(rounded(0x1p-133f), 0x1p-133f) << "the least subnormal";
  EXPECT_EQ(rounded(0x1p-134f), 0.0f);
  EXPECT_EQ(rounded(0x1.8p-133f), 0x1p-132f);
  EXPECT_TRUE(std::signbit(rounded(-0x1p-149f)));
  EXPECT_EQ(rounded(std::numeric_limits<float>::max()), 0x1.fep127f) << "not infinite";
  EXPECT_EQ(rounded(-kHalfPrecisionInf), -kHalfPrecisionInf);
  for (const uint32_t bits : {0x7fc00000u, 0x7f800001u, 0xff800001u, 0x7fffffffu}) {
    EXPECT_TRUE(std::isnan(rounded(std::bit_cast<float>(bits)))) << bits;
  }
}

// ---- The same bits for each instruction set -------------------------------------------------

struct Bodies {
  std::string name;
  bool supported;
  void (*widen_bf16)(const uint16_t*, float*, size_t);
  void (*widen_f16)(const uint16_t*, float*, size_t);
  void (*nearest_bf16)(const float*, uint16_t*, size_t);
  void (*nearest_f16)(const float*, uint16_t*, size_t);
  void (*bf16)(const float*, uint16_t*, size_t);
  void (*f16)(const float*, uint16_t*, size_t);
  void (*nearest_in_place)(float*, size_t);
  void (*add_bf16)(const uint16_t*, float*, size_t);
};
void PrintTo(const Bodies& bodies, std::ostream* out) { *out << bodies.name; }

constexpr kernel_bodies::Stochastically kDraws{.key = 3, .first = 40};

#define ROWHOUSE_BODIES_FOR(NAME, TARGET)                                                       \
  struct NAME {                                                                                 \
    TARGET static void WidenB(const uint16_t* h, float* v, size_t n) {                          \
      kernel_bodies::WidenBf16(h, v, n);                                                        \
    }                                                                                           \
    TARGET static void WidenF(const uint16_t* h, float* v, size_t n) {                          \
      kernel_bodies::WidenF16(h, v, n);                                                         \
    }                                                                                           \
    TARGET static void NearestB(const float* v, uint16_t* h, size_t n) {                        \
      kernel_bodies::RoundToNearestBf16(v, h, n);                                               \
    }                                                                                           \
    TARGET static void NearestF(const float* v, uint16_t* h, size_t n) {                        \
      kernel_bodies::RoundToF16(kernel_bodies::ToNearestEven(), v, h, n);                       \
    }                                                                                           \
    TARGET static void DrawB(const float* v, uint16_t* h, size_t n) {                           \
      kernel_bodies::RoundToBf16(kDraws, v, h, n);                                              \
    }                                                                                           \
    TARGET static void DrawF(const float* v, uint16_t* h, size_t n) {                           \
      kernel_bodies::RoundToF16(kDraws, v, h, n);                                               \
    }                                                                                           \
    TARGET static void InPlace(float* v, size_t n) { kernel_bodies::RoundToNearestBf16(v, n); } \
    TARGET static void Add(const uint16_t* h, float* v, size_t n) {                             \
      kernel_bodies::AddBf16(h, v, n);                                                          \
    }                                                                                           \
    static Bodies All(bool supported) {                                                         \
      return {#NAME,     supported, &WidenB, &WidenF,  &NearestB,                               \
              &NearestF, &DrawB,    &DrawF,  &InPlace, &Add};                                   \
    }                                                                                           \
  }

ROWHOUSE_BODIES_FOR(HalfBase, );
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
ROWHOUSE_BODIES_FOR(HalfAvx2, __attribute__((target("avx2,fma,f16c"))));
ROWHOUSE_BODIES_FOR(HalfAvx512, __attribute__((target("avx512f,fma"))));
#endif

std::vector<Bodies> AllBodies() {
  std::vector<Bodies> all = {HalfBase::All(true)};
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  all.push_back(HalfAvx2::All(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")));
  all.push_back(HalfAvx512::All(__builtin_cpu_supports("avx512f")));
#endif
  return all;
}

class HalfPrecisionBodies : public testing::TestWithParam<Bodies> {};

TEST_P(HalfPrecisionBodies, HaveTheBitsOfTheDispatchedForm) {
  const Bodies& bodies = GetParam();
  if (!bodies.supported) GTEST_SKIP() << "this CPU has no " << bodies.name;
  std::mt19937 generator(8);
  for (const size_t n : {0u, 1u, 7u, 16u, 33u, 200u, 5001u}) {
    std::vector<float> values(n);  // Of all bit patterns, every second one near what f16 has.
    for (size_t i = 0; i < n; ++i) {
      auto bits = static_cast<uint32_t>(generator());
      if (i % 2 != 0) bits = (bits & 0x87ffffff) + 0x31000000;
      values[i] = std::bit_cast<float>(bits);
    }
    std::vector<uint16_t> halves(n), expected(n);
    const auto expect_same = [&](auto body, auto dispatched) {
      body(values.data(), halves.data(), n);
      dispatched(expected);
      EXPECT_EQ(halves, expected) << "size " << n;
    };
    using Halves = std::span<uint16_t>;
    expect_same(bodies.nearest_bf16, [&](Halves out) { RoundToNearestBf16(values, out); });
    expect_same(bodies.nearest_f16, [&](Halves out) { RoundToNearestF16(values, out); });
    expect_same(bodies.bf16, [&](Halves out) { RoundToBf16({3, 40}, values, out); });
    expect_same(bodies.f16, [&](Halves out) { RoundToF16({3, 40}, values, out); });
    std::vector<uint32_t> widened(n), widened_expected(n);
    for (uint16_t& half : halves) half = static_cast<uint16_t>(generator());
    const auto as_floats = [n](std::vector<uint32_t>& bits) {
      return std::span(reinterpret_cast<float*>(bits.data()), n);
    };
    bodies.widen_bf16(halves.data(), as_floats(widened).data(), n);
    WidenBf16(halves, as_floats(widened_expected));
    EXPECT_EQ(widened, widened_expected);
    bodies.widen_f16(halves.data(), as_floats(widened).data(), n);
    WidenF16(halves, as_floats(widened_expected));
    EXPECT_EQ(widened, widened_expected);
    // In place: what rounding and widening give.
    std::ranges::copy(values, as_floats(widened).begin());
    bodies.nearest_in_place(as_floats(widened).data(), n);
    RoundToNearestBf16(values, halves);
    WidenBf16(halves, as_floats(widened_expected));
    EXPECT_EQ(widened, widened_expected);
    // Added as f32 to sums of all magnitudes. NaNs aside, whose payloads a sum may choose.
    std::vector<float> sums(n, 1.25f);
    for (size_t i = 0; i < n; ++i) {
      halves[i] &= 0xbfff;  // finite
      sums[i] = std::ldexp(sums[i], static_cast<int>(i % 100) - 50);
    }
    std::vector<float> expected_sums(n);
    for (size_t i = 0; i < n; ++i) {
      expected_sums[i] = sums[i] + std::bit_cast<float>(uint32_t{halves[i]} << 16);
    }
    std::vector<float> dispatched = sums;
    AddBf16(halves, dispatched);
    bodies.add_bf16(halves.data(), sums.data(), n);
    EXPECT_EQ(sums, expected_sums);
    EXPECT_EQ(dispatched, expected_sums);
  }
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, HalfPrecisionBodies, testing::ValuesIn(AllBodies()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace rowhouse
