// What every Initialiser promises, once per registered name; and what those that draw do besides.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

#include "sharding/rows/initialiser.h"
#include "tests/testing/npy_writer.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

class InitialiserContract : public testing::TestWithParam<std::string> {
 protected:
  static TableSpec Table(uint64_t rows, uint32_t dim) {
    TableSpec table;
    table.name = "user_id";
    table.rows = rows;
    table.dim = dim;
    return table;
  }
  // With a file of any values beside it, for those who want one.
  std::unique_ptr<Initialiser> Make(TableSpec table) {
    table.initialiser_options.file = dir_ / fmt::format("{}x{}.npy", table.rows, table.dim);
    std::vector<float> values(table.rows * table.dim);
    std::iota(values.begin(), values.end(), 0.5f);
    WriteNpy<float>(table.initialiser_options.file, table.dim, values);
    const InitialiserSources sources = InitialiserSources::Open({table}).value();
    return Initialisers().Make(GetParam(), sources.ContextOf(table)).value();
  }
  static std::vector<float> Fill(const Initialiser& initialiser, const std::vector<RowId>& rows,
                                 uint32_t dim) {
    std::vector<float> out(rows.size() * dim, NAN);
    EXPECT_OK(initialiser.Fill(rows, out));
    return out;
  }
  static std::vector<RowId> RowsTo(uint64_t end) {
    std::vector<RowId> rows;
    for (uint64_t row = 0; row < end; ++row) rows.push_back(RowId{row});
    return rows;
  }

  TempDir dir_;
};

class DrawingInitialiser : public InitialiserContract {};

TEST_P(InitialiserContract, ARowHasTheSameBitsAloneInAnyOrderAndRepeated) {
  const uint32_t dim = 7;
  const auto initialiser = Make(Table(30'000, dim));
  const std::vector<RowId> all = RowsTo(30'000);
  const std::vector<float> ascending = Fill(*initialiser, all, dim);

  std::mt19937_64 random(1);
  std::vector<RowId> some;
  for (int i = 0; i < 200; ++i) some.push_back(RowId{random() % 30'000});
  some.push_back(some.back());
  const std::vector<float> scattered = Fill(*initialiser, some, dim);
  for (size_t i = 0; i < some.size(); ++i) {
    for (size_t c = 0; c < dim; ++c) {
      ASSERT_EQ(scattered[i * dim + c], ascending[Raw(some[i]) * dim + c]) << Raw(some[i]);
    }
  }
  EXPECT_EQ(Fill(*initialiser, {all.back()}, dim),
            std::vector<float>(ascending.end() - dim, ascending.end()));
}

TEST_P(InitialiserContract, AnotherObjectOfTheSameTableGivesTheSameBits) {
  const TableSpec table = Table(100, 16);
  EXPECT_EQ(Fill(*Make(table), RowsTo(100), 16), Fill(*Make(table), RowsTo(100), 16));
}

TEST_P(DrawingInitialiser, AnotherSeedGivesOtherRows) {
  TableSpec table = Table(100, 16);
  const std::vector<float> first = Fill(*Make(table), RowsTo(100), 16);
  table.initialiser_options.seed += 1;
  const std::vector<float> second = Fill(*Make(table), RowsTo(100), 16);
  size_t equal = 0;
  for (size_t i = 0; i < first.size(); ++i) equal += first[i] == second[i] ? 1 : 0;
  EXPECT_LE(equal, 2u);
}

// Uniform over (-b, b), b = sqrt(1/n): mean 0, variance b^2/3, and nothing shared by neighbours.
TEST_P(DrawingInitialiser, ValuesAreUniformAndNeighboursAreNotCorrelated) {
  const uint64_t rows = 4096;
  const uint32_t dim = 32;
  const double bound = std::sqrt(1.0 / static_cast<double>(rows));
  const std::vector<float> values = Fill(*Make(Table(rows, dim)), RowsTo(rows), dim);
  const double n = static_cast<double>(values.size());

  std::vector<double> u;  // In units of the standard deviation.
  std::vector<int> buckets(16);
  for (const float value : values) {
    ASSERT_LE(std::abs(value), bound * (1 + 1e-6));
    u.push_back(value / bound * std::sqrt(3.0));
    const auto bucket = static_cast<size_t>((value / bound + 1) / 2 * 16);
    ++buckets[std::min<size_t>(bucket, 15)];
  }
  const auto mean_product = [&](size_t distance) {
    double sum = 0;
    for (size_t i = 0; i + distance < u.size(); ++i) sum += u[i] * u[i + distance];
    return sum / n;
  };
  const double five_sigma = 5 / std::sqrt(n);
  EXPECT_NEAR(std::accumulate(u.begin(), u.end(), 0.0) / n, 0.0, five_sigma);
  EXPECT_NEAR(mean_product(0), 1.0, five_sigma);
  for (const size_t distance : {1u, 2u, 3u, 31u, 32u, 33u, 64u, 1024u}) {
    EXPECT_NEAR(mean_product(distance), 0.0, five_sigma) << distance;
  }
  double chi_square = 0;
  for (const int count : buckets) chi_square += (count - n / 16) * (count - n / 16) / (n / 16);
  EXPECT_LT(chi_square, 45.0);  // 15 degrees of freedom: once in 10,000.
}

TEST_P(InitialiserContract, ARowOutsideTheTableIsAProgrammersMistake) {
  const auto initialiser = Make(Table(10, 4));
  EXPECT_DEATH(Fill(*initialiser, {RowId{10}}, 4), "");
}

INSTANTIATE_TEST_SUITE_P(Initialisers, InitialiserContract,
                         testing::ValuesIn(Initialisers().Names()),
                         [](const auto& test) { return test.param; });
INSTANTIATE_TEST_SUITE_P(Initialisers, DrawingInitialiser, testing::Values("counter", "dlrm"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace rowhouse
