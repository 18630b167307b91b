// What `rowhouse bench train` measures: models by their shapes, what a step of one multiplies, and
// lines of medians beside yardsticks. Threads: pure functions.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "worker/dense/model_spec.h"

namespace rowhouse {

// A model that is trained here and by PyTorch on ids of the same law.
struct TrainedShape {
  std::string name;
  ModelSpec model;
  std::vector<uint64_t> rows;  // of each table
  uint32_t ids_a_bag = 1;
  double zipf_exponent = 1.05;          // 0: evenly over all rows
  std::vector<std::string> flags = {};  // of `rowhouse train`, besides

  // Flags of `rowhouse train` that make this model.
  std::vector<std::string> ModelFlags() const;
};
TrainedShape KaggleShape();
TrainedShape EvenKaggleShape();  // tables of at most 200,000 rows
TrainedShape BenchmarkShape();   // DLRM's bench/dlrm_s_benchmark.sh, bags of 100

// The layers of both MLPs, bottom first.
struct LayerSize {
  uint32_t in = 0, out = 0;
  bool has_input_gradient = true;  // all but the first of the bottom MLP
};
std::vector<LayerSize> LayersOf(const ModelSpec& model);
// Of the products of a step: forward, gradient of the input, gradient of the weights.
double FlopsOf(const std::vector<LayerSize>& layers, uint64_t batch);

// What a step took: medians of wall time, means of CPU time of all its processes.
struct StepTime {
  double wall_ms = 0, cpu_ms = 0;
};

// A line of the table. measured and yardstick: milliseconds of a step, unless the name says else.
struct TrainLine {
  std::string name, yardstick_is;
  double measured = 0, yardstick = 0;
  double ratio = 0;                   // yardstick / measured, or, of kAtMost, the reverse
  double spread = 0;                  // (largest - smallest) / median of the pairs' ratios
  std::optional<double> target = {};  // null: the line is only printed
  bool is_at_most = false;            // the target is the largest ratio
  double flops = 0;                   // of a step; 0: unknown
  std::optional<StepTime> cost = {}, yardstick_cost = {};

  std::optional<bool> met() const;
};
// measured and yardstick of `line` from pairs of samples, and what follows from them.
TrainLine LineOf(TrainLine line, const std::vector<StepTime>& measured,
                 const std::vector<StepTime>& yardsticks);

// {name, measured, yardstick, yardstick_is, ratio, spread, target, met} and, where they are known,
// wall_ms, cpu_ms, gflops_a_core_second of both.
nlohmann::ordered_json TrainLinesToJson(const std::vector<TrainLine>& lines);
std::string TrainLinesText(const std::vector<TrainLine>& lines);

}  // namespace rowhouse
