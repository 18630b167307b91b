#include "launch/bench_rows/timed_pairs.h"

#include <fmt/format.h>
#include <time.h>

#include <utility>
#include <vector>

#include "common/median.h"
#include "launch/bench/stopwatch.h"

namespace rowhouse {
namespace {

double ProcessSeconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct SampleTimes {
  std::vector<double> wall, cpu;
};

Result<double> TakeTimed(const TakeSample& take, SampleTimes* times) {
  const double cpu = ProcessSeconds();
  const Stopwatch stopwatch;
  ASSIGN_OR_RETURN(const double sample, take());
  times->wall.push_back(stopwatch.Seconds());
  times->cpu.push_back(ProcessSeconds() - cpu);
  return sample;
}

}  // namespace

Result<BenchFigure> CompareTimed(std::string name, std::string unit, std::optional<double> target,
                                 const TakeSample& system, const TakeSample& yardstick) {
  std::vector<BenchPair> pairs;
  SampleTimes of_system, of_yardstick;
  for (int i = 0; i <= kTimedPairs; ++i) {
    if (i == 1) {  // The first pair warmed up.
      pairs.clear();
      of_system = of_yardstick = {};
    }
    BenchPair& pair = pairs.emplace_back();
    for (const bool is_system : {i % 2 == 0, i % 2 != 0}) {
      ASSIGN_OR_RETURN(const double sample, TakeTimed(is_system ? system : yardstick,
                                                      is_system ? &of_system : &of_yardstick));
      (is_system ? pair.system : pair.yardstick) = sample;
    }
  }
  BenchFigure figure = Summarise(std::move(name), std::move(unit), target, pairs);
  figure.times = BenchTimes{.wall = MedianOf(of_system.wall),
                            .cpu = MedianOf(of_system.cpu),
                            .yardstick_wall = MedianOf(of_yardstick.wall),
                            .yardstick_cpu = MedianOf(of_yardstick.cpu)};
  figure.remark =
      fmt::format(" (CPU {:.0f} ms in {:.0f}, beside {:.0f} in {:.0f})", figure.times->cpu * 1e3,
                  figure.times->wall * 1e3, figure.times->yardstick_cpu * 1e3,
                  figure.times->yardstick_wall * 1e3);
  return figure;
}

}  // namespace rowhouse
