// Interleaved pairs of samples, with the time that each took of the clock and of the CPUs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "launch/bench/bench.h"

namespace rowhouse {

inline constexpr int kTimedPairs = 9;  // odd: the median is one of them

// A sample, > 0, in the figure's unit.
using TakeSample = std::function<Result<double>()>;

// Samples, and the seconds that each took.
struct TimedSamples {
  std::vector<double> values, wall, cpu;

  void Add(double value, double wall_seconds, double cpu_seconds);
};

// Adds a sample to *samples. Threads: one; CPU time is that of the process.
Status TakeTimed(const TakeSample& take, TimedSamples* samples);

// Of samples that were taken in pairs. The figure's remark says the medians of its times.
BenchFigure SummariseTimed(std::string name, std::string unit, std::optional<double> target,
                           const TimedSamples& system, const TimedSamples& yardstick);
// The same of times in us, of which less is better: a ratio is the yardstick's over the system's.
BenchFigure SummariseLatencies(std::string name, double target, const TimedSamples& system,
                               const TimedSamples& yardstick);

// Takes a pair of samples that is not counted, and then kTimedPairs. Who goes first alternates.
Result<BenchFigure> CompareTimed(std::string name, std::string unit, std::optional<double> target,
                                 const TakeSample& system, const TakeSample& yardstick);

}  // namespace rowhouse
