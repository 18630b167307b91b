#include "launch/bench/bench.h"

#include <fmt/core.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "common/durable_file.h"
#include "launch/bench/bench_figure.h"

namespace rowhouse {
namespace {

Result<BenchPair> MeasurePair(Bench& bench, bool system_first) {
  BenchPair pair;
  for (const bool is_system : {system_first, !system_first}) {
    ASSIGN_OR_RETURN(const double sample,
                     is_system ? bench.MeasureSystem() : bench.MeasureYardstick());
    (is_system ? pair.system : pair.yardstick) = sample;
  }
  return pair;
}

Result<BenchFigure> Measure(const std::string& name, Bench& bench) {
  std::vector<BenchPair> pairs;
  // The first pair warms up caches, connections and clock rate, and is not counted. Who goes first
  // alternates, so that a machine that slows down slows both alike.
  for (int i = -1; i < kMeasuredPairs; ++i) {
    ASSIGN_OR_RETURN(const BenchPair pair, MeasurePair(bench, /*system_first=*/i % 2 == 0));
    if (i >= 0) pairs.push_back(pair);
  }
  return Summarise(name, bench.unit(), bench.target(), pairs);
}

}  // namespace

Registry<Bench, BenchOptions>& Benches() {
  static Registry<Bench, BenchOptions> registry("bench");
  return registry;
}

Status RunBench(const std::vector<std::string>& names, const std::string& json_path) {
  for (const std::string& name : names) RETURN_IF_ERROR(Benches().Validate(name));
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  fmt::print("{}\n", FigureTableHead());
  for (const std::string& name : names.empty() ? Benches().Names() : names) {
    const auto annotate = [&](const Status& status) { return status.Annotate("bench " + name); };
    Result<std::unique_ptr<Bench>> bench = Benches().Make(name, {});
    if (!bench.ok()) return annotate(bench.status());
    const Result<BenchFigure> figure = Measure(name, *bench.value());
    if (!figure.ok()) return annotate(figure.status());
    fmt::print("{}\n", FigureTableLine(figure.value(), bench.value()->yardstick()));
    std::fflush(stdout);
    list.push_back(FigureToJson(figure.value()));
  }
  if (json_path.empty()) return OkStatus();
  return WriteFileDurably(json_path, list.dump(2) + "\n");
}

}  // namespace rowhouse
