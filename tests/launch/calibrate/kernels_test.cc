// Every kernel of the calibration: its grid, its figures, and that it can be measured.
#include <set>

#include "launch/calibrate/calibration.h"
#include "launch/calibrate/measured_kernel.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

class Kernels : public testing::TestWithParam<std::string> {
 protected:
  const KernelDeclaration& kernel_ = MeasuredKernels().at(GetParam());
};

TEST_P(Kernels, HaveHeldOutPointsWithinTheGridThatAreNotOfIt) {
  const std::vector<KernelAxis> grid = kernel_.grid;
  const std::vector<std::vector<double>> points = PointsOf(grid);
  for (const std::vector<double>& point : kernel_.held_out) {
    ASSERT_EQ(point.size(), grid.size());
    EXPECT_EQ(std::ranges::count(points, point), 0);
    for (size_t axis = 0; axis < grid.size(); ++axis) {
      EXPECT_GE(point[axis], grid[axis].values.front());
      EXPECT_LE(point[axis], grid[axis].values.back());
    }
  }
}

TEST_P(Kernels, JudgeEachFigureAsSomethingOrNone) {
  const size_t judged = kernel_.judged_as.size();
  EXPECT_TRUE(judged == 0 || judged == kernel_.figures.size());
  EXPECT_EQ(judged > 0, !kernel_.held_out.empty());
}

TEST_P(Kernels, GiveATimeForEachFigure) {
  if (GetParam() == "allreduce") GTEST_SKIP() << "takes mpirun";
  const std::vector<double> smallest = PointsOf(kernel_.grid).front();
  const std::unique_ptr<MeasuredKernel> measured = kernel_.make();
  const Status prepared = measured->Prepare(smallest);
  if (prepared.code() == StatusCode::kUnavailable) GTEST_SKIP() << prepared.message();
  ASSERT_OK(prepared);
  const Result<std::vector<double>> ns = measured->Measure();
  ASSERT_OK(ns);
  EXPECT_EQ(ns.value().size(), kernel_.figures.size());
  EXPECT_GT(ns.value()[0], 0);
}

std::vector<std::string> KernelNames() {
  std::vector<std::string> names;
  for (const auto& [name, kernel] : MeasuredKernels()) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, Kernels, testing::ValuesIn(KernelNames()),
                         [](const auto& name) { return name.param; });

TEST(MeasuredKernels, FillTablesOfDifferentNames) {
  std::set<std::string> names;
  for (const auto& [name, kernel] : MeasuredKernels()) {
    for (const std::string& figure : kernel.figures) {
      EXPECT_TRUE(names.insert(figure).second) << figure;
    }
  }
}

// Thirty points or more that no table was made of, and as many that one was.
TEST(MeasuredKernels, AreJudgedAtEnoughPoints) {
  size_t held_out = 0;
  for (const auto& [name, kernel] : MeasuredKernels()) held_out += kernel.held_out.size();
  EXPECT_GE(held_out, 30u);
}

}  // namespace
}  // namespace rowhouse
