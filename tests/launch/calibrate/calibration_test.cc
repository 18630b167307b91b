// Medians and spreads of samples in passes, and a calibration of a few kernels.
#include "launch/calibrate/calibration.h"

#include "launch/calibrate/measured_kernel.h"
#include "launch/prediction/machine_of_run.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

TEST(PointSamples, LeaveOutSlowPassesAndTheSlowestFifthOfAnother) {
  PointSamples samples;
  for (const double ns : {10.0, 11.0, 12.0, 13.0, 14.0}) samples.Add(0, ns);
  for (const double ns : {12.0, 12.0}) samples.Add(1, ns);
  for (const double ns : {15.1, 15.2}) samples.Add(2, ns);
  EXPECT_LT(samples.spread(), kBusySpread);
  EXPECT_DOUBLE_EQ(samples.ns(), (11.5 + 12) / 2);
}

TEST(PointSamples, BesideOtherWorkCountTheFastestQuarter) {
  PointSamples samples;
  for (const double ns : {90.0, 10.0, 40.0, 11.0, 30.0, 35.0, 60.0, 80.0}) samples.Add(0, ns);
  EXPECT_GT(samples.spread(), kBusySpread);
  EXPECT_DOUBLE_EQ(samples.ns(), 10.5);
}

TEST(PointSamples, HaveTheSpreadOfAllPasses) {
  PointSamples samples;
  for (const double ns : {10.0, 11.0, 12.0}) samples.Add(0, ns);
  for (const double ns : {20.0, 22.0, 24.0}) samples.Add(1, ns);
  // 10 11 12 20 22 24: the 90th percentile is 23, the 10th 10.5, the median 16.
  EXPECT_DOUBLE_EQ(samples.spread(), (23 - 10.5) / 16);
}

TEST(PointSamples, OfAPassThatWasNotMadeCountNothing) {
  PointSamples samples;
  samples.Add(1, 7);
  EXPECT_DOUBLE_EQ(samples.ns(), 7);
  EXPECT_DOUBLE_EQ(samples.spread(), 0);
}

TEST(PointsOf, HaveTheLastAxisFastest) {
  const std::vector<KernelAxis> grid = {{"rows", {1, 2}}, {"dim", {4, 8}}};
  EXPECT_EQ(PointsOf(grid), (std::vector<std::vector<double>>{{1, 4}, {1, 8}, {2, 4}, {2, 8}}));
}

TEST(Calibrate, FillsTheTablesOfTheKernelsThatWereAskedFor) {
  const Result<Calibration> calibration =
      Calibrate({.passes = 1, .point_ms = 0, .only = {"row_gradients"}});
  ASSERT_OK(calibration);
  const Machine& machine = calibration.value().machine;
  EXPECT_EQ(machine.kernels.size(), 1u);
  EXPECT_GT(machine.Ns("row_gradients", {1000, 16}), 0);
  EXPECT_FALSE(machine.host.empty());
  EXPECT_GE(machine.cores, 1u);
  EXPECT_TRUE(calibration.value().judged.empty());
  EXPECT_THAT(FiguresAsText(CalibrationFigures(calibration.value())), HasSubstr("row_gradients"));
}

TEST(Calibrate, JudgesAtHeldOutPointsAndAsManyOthers) {
  const Result<Calibration> calibration =
      Calibrate({.passes = 2, .point_ms = 0, .judges = true, .only = {"dense_update_sgd"}});
  ASSERT_OK(calibration);
  const std::vector<JudgedPoint>& judged = calibration.value().judged;
  ASSERT_FALSE(judged.empty());
  EXPECT_EQ(2 * static_cast<size_t>(std::ranges::count(judged, true, &JudgedPoint::is_fitted)),
            judged.size());
  const std::map<std::string, GroupError> errors = ErrorsOfGroups(judged);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors.begin()->first, "update");
  EXPECT_EQ(errors.begin()->second.all.count, judged.size());
  EXPECT_EQ(errors.begin()->second.held_out.count, judged.size() / 2);
}

TEST(Calibrate, EndsWhenItIsToldAndKeepsWhatItMeasured) {
  std::vector<double> parts;
  const auto refuse = [&](const std::string&, int, double done) {
    parts.push_back(done);
    return parts.size() < 2 ? OkStatus() : MakeStatus(StatusCode::kUnavailable, "enough");
  };
  const Result<Calibration> calibration =
      Calibrate({.passes = 2, .point_ms = 0, .only = {"dense_update_sgd"}, .on_kernel = refuse});
  ASSERT_OK(calibration);
  EXPECT_EQ(calibration.value().cut_off.code(), StatusCode::kUnavailable);
  EXPECT_TRUE(calibration.value().machine.HasKernel("dense_update_sgd"));
  EXPECT_THAT(parts, testing::ElementsAre(0, 0.5));
}

TEST(Calibrate, TellsWhatItHasAfterEachKernelOfEachPass) {
  std::vector<size_t> kernels;
  const auto keep = [&](const Machine& so_far) {
    kernels.push_back(so_far.kernels.size());
    EXPECT_FALSE(so_far.host.empty());
    return kernels.size() < 3 ? OkStatus() : MakeStatus(StatusCode::kInternal, "disk is full");
  };
  const Status status = Calibrate({.passes = 2,
                                   .point_ms = 0,
                                   .only = {"dense_update_sgd", "row_gradients"},
                                   .on_measured = keep})
                            .status();
  EXPECT_EQ(status.message(), "disk is full");
  EXPECT_THAT(kernels, testing::ElementsAre(1, 2, 2));
}

// A row takes 1 ns up to 4 MiB, and 100 ns beyond.
TEST(CacheKnee, IsTheLastSizeThatIsFast) {
  const double mib = 1 << 20;
  const KernelTable gather =
      KernelTable::Make(
          {{"table_bytes", {mib, 4 * mib, 16 * mib, 64 * mib}}, {"row_bytes", {64, 256}}},
          {1, 1, 1, 1, 100, 100, 100, 100}, std::vector<double>(8, 0.0))
          .value();
  EXPECT_EQ(CacheKnee(gather), 4u << 20);
}

}  // namespace
}  // namespace rowhouse
