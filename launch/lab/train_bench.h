// What `rowhouse bench train` measures: models by their shapes, how they are trained, what a step
// of one multiplies, and lines of medians beside yardsticks. Threads: pure functions.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "worker/dense/matrix_product.h"
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

// How a shape is trained.
struct TrainedCase {
  std::string name;
  uint64_t batch = 0, steps = 0;  // an epoch
  uint32_t threads = 1;
  uint64_t epochs = 1;
  ElementType precision = ElementType::kF32;  // of the layers: kF32 or kBf16
  std::optional<double> target = {};          // least ratio to PyTorch
  std::optional<double> step_target = {};     // most of (its time / that of its products)
  std::optional<double> ceiling_target = {};  // least share of the pace of its products alone
};
// Cases of Kaggle's shape, where oneDNN uses the instruction set `isa` (OneDnnCpuIsa). The first
// two have batch 2048, with one thread and with two. Where the CPU has products of bf16, a case of
// bf16 follows the same case in f32; it has a target where there is AMX.
std::vector<TrainedCase> KaggleCases(int isa);

// Samples of each kind, in the order of the pairs.
struct CaseSamples {
  std::vector<StepTime> ours, products;
  std::vector<StepTime> torch = {};   // fewer than ours: PyTorch is left out
  std::vector<StepTime> in_f32 = {};  // of a case of bf16: our steps of the same in f32
};

// A line of the table. measured and yardstick: milliseconds of a step, unless the name says else.
struct TrainLine {
  std::string name, yardstick_is;
  double measured = 0, yardstick = 0;
  double ratio = 0;                   // yardstick / measured, or, if is_at_most, the reverse
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

// Beside PyTorch; the step beside its products and, where that is judged, the reverse; bf16 beside
// f32.
std::vector<TrainLine> LinesOf(const TrainedShape& shape, const TrainedCase& one,
                               const CaseSamples& samples);

// {name, measured, yardstick, yardstick_is, ratio, spread, target, target_is, met} and of both
// sides, or null where they are not known, cpu_ms and gflops_a_core_second (yardstick_cpu_ms, ...).
nlohmann::ordered_json TrainLinesToJson(const std::vector<TrainLine>& lines);
std::string TrainLinesText(const std::vector<TrainLine>& lines);

}  // namespace rowhouse
