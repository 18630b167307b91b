// Samples of kernels, in passes. Threads: one.
#pragma once

#include <span>
#include <vector>

#include "common/status.h"
#include "launch/calibrate/measured_kernel.h"
#include "launch/prediction/machine_of_run.h"
#include "sharding/lab/cost/kernel_table.h"

namespace rowhouse {

// The value that `share` of the samples lie below, interpolated. Requires samples.
double Percentile(std::vector<double> samples, double share);

inline constexpr int kMinSamples = 3;
inline constexpr double kSlowPass = 1.3;
// How many of the fastest samples count: on a quiet host, and beside other work.
inline constexpr double kFasterPart = 0.8, kFastestPart = 0.25;

// Samples of one point of one kernel.
struct PointSamples {
  std::vector<std::vector<double>> of_pass;  // ns, of each pass, in the order measured

  void Add(int pass, double ns);
  // The mean of the passes, each without its slowest fifth, or of its fastest quarter if samples
  // are spread by more than kBusySpread; passes that took kSlowPass times as long as the fastest
  // one are left out, as others were at work.
  double ns() const;
  double spread() const;  // (90th - 10th percentile) / median, of all samples
};

// Measures a prepared kernel for about `ms`; samples[figure] gets the pass's samples.
Status SamplePoint(MeasuredKernel& kernel, int pass, double ms, std::vector<PointSamples>* samples);

// All points of a grid, the last axis fastest.
std::vector<std::vector<double>> PointsOf(std::span<const KernelAxis> grid);

}  // namespace rowhouse
