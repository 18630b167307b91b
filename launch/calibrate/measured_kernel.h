// MeasuredKernel: a part of the system whose time depends on sizes, measured with the code that
// runs in training. `rowhouse bench calibrate` measures each over its grid; the cost model predicts
// by the tables; `rowhouse plan --accountability` measures other sizes and compares.
//
// A kernel gives one or more figures at each point, each a KernelTable of the Machine by its name:
// an exchange with a shard gives, for pull and for push, the wall time, the worker's core time and
// the shard's core time.
//
// Threads: made, used and destroyed on one thread, one at a time; a kernel may have threads inside.
// To add one, write launch/calibrate/kernels/<name>.cc; it registers itself by
// AddMeasuredKernels().
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/registry.h"
#include "common/status.h"
#include "common/step_phases.h"
#include "sharding/lab/cost/kernel_table.h"

namespace rowhouse {

class MeasuredKernel {
 public:
  virtual ~MeasuredKernel() = default;

  // Prepares for sizes, one an axis, and frees what was prepared before. kUnavailable: this host
  // cannot measure the kernel, and why.
  virtual Status Prepare(std::span<const double> sizes) = 0;
  // One run at the sizes of Prepare: nanoseconds of each figure, in their order. Prepare performs
  // untimed runs first if a run changes what the next one finds (rows that exist, caches).
  virtual Result<std::vector<double>> Measure() = 0;
};

struct KernelDeclaration {
  std::string name;
  std::vector<std::string> figures = {name};  // names of the tables that it fills
  PhaseGroup group = PhaseGroup::kRows;       // what its time is spent on
  std::vector<KernelAxis> grid;
  // Sizes to judge predictions at; none is a point of the grid.
  std::vector<std::vector<double>> held_out = {};
  // What each figure is judged as: "lookup forward", "update", "fully connected", "interaction",
  // "pull", "push", "allreduce"; or "": it is not. Empty: none is.
  std::vector<std::string> judged_as = {};
  // Factor on the sampling time: thread wake-ups vary, so only a mean of many samples is stable.
  double patience = 1;
  // Samples per Prepare, at most.
  int max_samples = 120;
  std::function<std::unique_ptr<MeasuredKernel>()> make;
};

// For `make`.
template <typename Kernel, typename... Args>
std::function<std::unique_ptr<MeasuredKernel>()> Makes(const Args&... args) {
  return [=] { return std::make_unique<Kernel>(args...); };
}

// Registers, at namespace scope, a function that returns the file's kernels; it is called after
// main begins, so it may read other registries and declare a kernel for each of their members.
bool AddMeasuredKernels(std::vector<KernelDeclaration> (*declare)());

// By name.
const std::map<std::string, KernelDeclaration>& MeasuredKernels();

inline size_t SizeOf(double size) { return static_cast<size_t>(size + 0.5); }

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

// All points of a grid, the last axis fastest.
std::vector<std::vector<double>> PointsOf(std::span<const KernelAxis> grid);

}  // namespace rowhouse
