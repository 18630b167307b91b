// Calibrate: measures this machine: every kernel over its grid, and constants of memory, messages
// and disk, each with its spread.
//
// A machine slows down for minutes at times. So all is measured in passes, one after the other, and
// slow passes of a point do not count (PointSamples); the spread is that of all samples, so that
// a slow pass shows.
// Threads: one caller.
#pragma once

#include <cstdio>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "launch/bench/stop_signal.h"
#include "launch/bench/stopwatch.h"
#include "launch/figures/figures.h"
#include "sharding/lab/cost/kernel_table.h"
#include "sharding/lab/cost/machine.h"
#include "sharding/lab/cost/prediction_error.h"

namespace rowhouse {

struct CalibrationOptions {
  int passes = 2;
  double point_ms = 12;  // of a pass, for the samples of one point, times the kernel's patience;
                         // at least kMinSamples are made
  // Also measures the points that judge the tables: held-out points and as many of the grid.
  // Processes one kernel at a time, all passes and judged points together, so that a slow minute
  // affects both.
  bool judges = false;
  // Kernels to measure: names that begin so; empty: all.
  std::vector<std::string> only = {};
  // Called before each kernel of each pass, with the part of the kernels' time that is behind, from
  // 0 to 1. An error stops measuring; Calibrate returns what it has, with `cut_off`.
  std::function<Status(const std::string& kernel, int pass, double done)> on_kernel = nullptr;
  // Called after each, with the kernels measured so far, for what must outlast a kill; its error is
  // Calibrate's.
  std::function<Status(const Machine& so_far)> on_measured = nullptr;
};

// A point at which a kernel was measured to judge its table.
struct JudgedPoint {
  std::string group;  // KernelDeclaration::judged_as
  std::string kernel;
  std::vector<double> sizes;
  bool is_fitted = false;  // a grid point, measured again: the table was built from other samples
  double predicted_ns = 0, measured_ns = 0;
  double spread = 0;  // of the measured samples
};

struct Calibration {
  Machine machine;
  std::vector<std::string> unavailable;  // kernels that this host cannot measure, and why
  std::vector<JudgedPoint> judged;
  Status cut_off;  // OK: all was measured
};
// An error of on_kernel ends the measuring only: what was measured is returned, with `cut_off`.
Result<Calibration> Calibrate(const CalibrationOptions& options);

// Of a command that measures for minutes: progress lines with the seconds so far, a clean end on
// Ctrl-C, one OpenMP thread, and no log of what stores do. Threads: one at a time in a process.
class MeasuringSession {
 public:
  // `json`: the value of --json. Progress goes to stdout, or to stderr if that gets the JSON.
  explicit MeasuringSession(const std::string& json);

  // An error once a signal has come.
  Status Say(const std::string& what) const;
  // Calibrate, saying each kernel and about how long the rest takes.
  Result<Calibration> Measure(CalibrationOptions options) const;
  double seconds() const { return stopwatch_.Seconds(); }

 private:
  std::FILE* const progress_;
  const StopSignal stop_signal_;
  const Stopwatch stopwatch_;
};

// Measures dram_gbs, llc_gbs, dram_latency_ns, zmq_round_trip_us and zmq_gbs, and derives
// gemm_f32_gflops, gemm_bf16_gflops, multiget_rows_per_s, put_rows_per_s and the effective size of
// the last-level cache from the kernels that are there.
Status MeasureConstants(Machine* machine);

// The largest table size of the grid, in bytes, at which gather's time per row, at the widest row,
// is at most the geometric mean of its times in the smallest and largest table.
uint64_t CacheKnee(const KernelTable& gather);

// For people: constants, kernels with their grids and spreads, and what to make of them. As JSON:
// the machine.
Figures CalibrationFigures(const Calibration& calibration);

// Where `rowhouse bench calibrate` writes, checked before it measures for minutes: a file is made
// beside the path and removed. `given`: --calibration; "": this host's file in the user's cache
// folder, which is made. kUsage, naming the flag and the path, if nothing can be written there: no
// such directory, a directory itself, no permission; and for "typical", which means built-in
// figures wherever one is read.
Result<std::string> CalibrationFileToWrite(const std::string& given);

// The most that the geometric mean of a group's errors may be.
inline constexpr double kKernelTarget = 0.10;

// The error of kernel tables at these points.
PredictionError ErrorOfPoints(std::span<const JudgedPoint> points);

// What the judged points say of a group of kernels.
struct GroupError {
  PredictionError all, held_out;  // of all points; of those that no table was made of
};
// By group.
std::map<std::string, GroupError> ErrorsOfGroups(std::span<const JudgedPoint> judged);

// Each group, and the points, those that are furthest off first.
// {groups: {NAME: {all, held_out}}, points: [{group, kernel, sizes, is_fitted, predicted_ns,
// measured_ns, spread}]}
Figures JudgementFigures(std::vector<JudgedPoint> judged);

}  // namespace rowhouse
