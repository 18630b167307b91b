#include "launch/bench_rows/timed_pairs.h"

#include <fmt/format.h>
#include <time.h>

#include <utility>

#include "common/median.h"
#include "launch/bench/stopwatch.h"

namespace rowhouse {
namespace {

double ProcessSeconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void InvertAll(std::vector<double>* values) {
  for (double& value : *values) value = 1 / value;
}

}  // namespace

void TimedSamples::Add(double value, double wall_seconds, double cpu_seconds) {
  values.push_back(value);
  wall.push_back(wall_seconds);
  cpu.push_back(cpu_seconds);
}

Status TakeTimed(const TakeSample& take, TimedSamples* samples) {
  const double cpu = ProcessSeconds();
  const Stopwatch stopwatch;
  ASSIGN_OR_RETURN(const double sample, take());
  const double wall = stopwatch.Seconds();
  samples->Add(sample, wall, ProcessSeconds() - cpu);
  return OkStatus();
}

BenchFigure SummariseTimed(std::string name, std::string unit, std::optional<double> target,
                           const TimedSamples& system, const TimedSamples& yardstick) {
  CHECK_EQ(system.values.size(), yardstick.values.size()) << name;
  std::vector<BenchPair> pairs;
  for (size_t i = 0; i < system.values.size(); ++i) {
    pairs.push_back({.system = system.values[i], .yardstick = yardstick.values[i]});
  }
  BenchFigure figure = Summarise(std::move(name), std::move(unit), target, pairs);
  figure.times = BenchTimes{.wall = MedianOf(system.wall),
                            .cpu = MedianOf(system.cpu),
                            .yardstick_wall = MedianOf(yardstick.wall),
                            .yardstick_cpu = MedianOf(yardstick.cpu)};
  figure.remark =
      fmt::format(" (CPU {:.1f} ms in {:.1f}, beside {:.1f} in {:.1f})", figure.times->cpu * 1e3,
                  figure.times->wall * 1e3, figure.times->yardstick_cpu * 1e3,
                  figure.times->yardstick_wall * 1e3);
  return figure;
}

BenchFigure SummariseLatencies(std::string name, double target, const TimedSamples& system,
                               const TimedSamples& yardstick) {
  TimedSamples rates = system, yardstick_rates = yardstick;
  InvertAll(&rates.values);
  InvertAll(&yardstick_rates.values);
  BenchFigure figure = SummariseTimed(std::move(name), "us", target, rates, yardstick_rates);
  figure.measured = MedianOf(system.values);
  figure.yardstick = MedianOf(yardstick.values);
  return figure;
}

Result<BenchFigure> CompareTimed(std::string name, std::string unit, std::optional<double> target,
                                 const TakeSample& system, const TakeSample& yardstick) {
  TimedSamples of_system, of_yardstick;
  for (int i = 0; i <= kTimedPairs; ++i) {
    if (i == 1) of_system = of_yardstick = {};  // The first pair warmed up.
    for (const bool is_system : {i % 2 == 0, i % 2 != 0}) {
      RETURN_IF_ERROR(
          TakeTimed(is_system ? system : yardstick, is_system ? &of_system : &of_yardstick));
    }
  }
  return SummariseTimed(std::move(name), std::move(unit), target, of_system, of_yardstick);
}

}  // namespace rowhouse
