// Interleaved pairs of samples, with the time that each took of the clock and of the CPUs.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "common/status.h"
#include "launch/bench/bench.h"

namespace rowhouse {

inline constexpr int kTimedPairs = 9;  // odd: the median is one of them

// A sample, > 0, in the figure's unit.
using TakeSample = std::function<Result<double>()>;

// Takes a pair of samples that is not counted, and then kTimedPairs. Who goes first alternates. The
// figure's remark says the medians of its times. Threads: one; CPU time is that of the process.
Result<BenchFigure> CompareTimed(std::string name, std::string unit, std::optional<double> target,
                                 const TakeSample& system, const TakeSample& yardstick);

}  // namespace rowhouse
