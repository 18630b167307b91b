#include "sharding/lab/cost/kernel_table.h"

#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>

namespace rowhouse {
namespace {

KernelTable FixedAndProduct() {
  // 100 + 3 x + 2 x y.
  std::vector<double> ns;
  for (const double x : {1.0, 10.0, 100.0}) {
    for (const double y : {4.0, 64.0}) ns.push_back(100 + 3 * x + 2 * x * y);
  }
  return KernelTable::Make({{"x", {1, 10, 100}}, {"y", {4, 64}}}, ns, std::vector<double>(6, 0.1))
      .value();
}

double At(const KernelTable& table, double x, double y) { return table.Predict(std::array{x, y}); }

TEST(KernelTable, PredictsFixedCostsAndProductsOfSizesExactly) {
  const KernelTable table = FixedAndProduct();
  EXPECT_DOUBLE_EQ(At(table, 10, 64), 100 + 30 + 1280);
  EXPECT_DOUBLE_EQ(At(table, 37, 19), 100 + 3 * 37 + 2 * 37 * 19);
  EXPECT_DOUBLE_EQ(At(table, 500, 128), 100 + 3 * 500 + 2 * 500 * 128);
}

TEST(KernelTable, BelowTheGridTimesFallAtMostInProportion) {
  const KernelTable table = KernelTable::Make({{"n", {10, 20}}}, {100, 500}, {0, 0}).value();
  EXPECT_DOUBLE_EQ(table.Predict(std::array{5.0}), 50);  // not 100 - 5 * 40
  EXPECT_EQ(table.Predict(std::array{0.0}), 0);
}

TEST(KernelTable, BeyondTheGridTimesNeverFall) {
  const KernelTable table = KernelTable::Make({{"n", {10, 20}}}, {110, 100}, {0, 0}).value();
  EXPECT_DOUBLE_EQ(table.Predict(std::array{1000.0}), 100);
}

TEST(KernelTable, ComesBackFromJson) {
  const KernelTable table = FixedAndProduct();
  const KernelTable back = KernelTable::FromJson(table.ToJson()).value();
  EXPECT_EQ(back.ns(), table.ns());
  EXPECT_EQ(back.spread(), table.spread());
  EXPECT_EQ(back.axes()[1].name, "y");
  EXPECT_EQ(back.axes()[1].values, table.axes()[1].values);
}

TEST(KernelTable, RefusesGridsThatDoNotFit) {
  EXPECT_EQ(KernelTable::Make({{"n", {2, 1}}}, {1, 1}, {0, 0}).status().code(), StatusCode::kUsage);
  EXPECT_EQ(KernelTable::Make({{"n", {1, 2}}}, {1}, {0}).status().code(), StatusCode::kUsage);
  EXPECT_EQ(KernelTable::Make({{"n", {1, 2}}}, {1, 0}, {0, 0}).status().code(), StatusCode::kUsage);
  EXPECT_EQ(KernelTable::FromJson({{"axes", 1}}).status().code(), StatusCode::kUsage);
}

}  // namespace
}  // namespace rowhouse
