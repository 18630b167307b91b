#include "launch/lab/layer_products.h"

#include <omp.h>
#include <sys/resource.h>

#include <utility>

#include "common/kernels/half_precision.h"
#include "common/median.h"
#include "launch/bench/stopwatch.h"

namespace rowhouse {

double CpuSecondsOf(int who) {
  rusage usage;
  getrusage(who, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

StepTime MeasureSteps(const std::function<void()>& step) {
  constexpr int kSteps = 7;  // odd: the median is one of them
  step();
  std::vector<double> ms;
  const double before = CpuSecondsOf(RUSAGE_SELF);
  for (int s = 0; s < kSteps; ++s) {
    const Stopwatch stopwatch;
    step();
    ms.push_back(stopwatch.Ns() * 1e-6);
  }
  return {.wall_ms = MedianOf(ms), .cpu_ms = (CpuSecondsOf(RUSAGE_SELF) - before) * 1e3 / kSteps};
}

LayerProducts::LayerProducts(const std::vector<LayerSize>& layers, uint64_t batch,
                             ElementType precision)
    : batch_(static_cast<int64_t>(batch)) {
  const bool is_bf16 = precision == ElementType::kBf16;
  const auto operand = [&](size_t size, float value) {
    Operand all{.values = std::vector<float>(size, value)};
    if (!is_bf16) return all;
    all.halves.resize(size);
    RoundToNearestBf16(all.values, all.halves);
    all.values = {};
    return all;
  };
  for (const LayerSize& size : layers) {
    layers_.push_back({.size = size,
                       .x = operand(batch * size.in, 0.5f),
                       .weights = operand(size_t{size.in} * size.out, 0.01f),
                       .y = std::vector<float>(batch * size.out, 0.1f),
                       .half_dy = is_bf16 ? operand(batch * size.out, 0.1f) : Operand{},
                       .dx = std::vector<float>(batch * size.in),
                       .dw = std::vector<float>(size_t{size.in} * size.out)});
  }
}

StepTime LayerProducts::Measure(int threads) {
  omp_set_num_threads(threads);
  return MeasureSteps([this] {
    for (Layer& layer : layers_) MultiplyAll(&layer);
  });
}

ConstMatrix LayerProducts::Operand::Of(int64_t rows, int64_t columns) const {
  return halves.empty() ? MatrixOf(values.data(), rows, columns)
                        : MatrixOf(halves.data(), rows, columns);
}

void LayerProducts::MultiplyAll(Layer* layer) {
  const auto [in, out, has_input_gradient] = layer->size;
  const ConstMatrix x = layer->x.Of(batch_, in), weights = layer->weights.Of(out, in),
                    dy = layer->half_dy.halves.empty()
                             ? MatrixOf(std::as_const(layer->y).data(), batch_, out)
                             : layer->half_dy.Of(batch_, out);
  products_.Multiply(x, weights, MatrixOf(layer->y.data(), batch_, out), {.b_transposed = true});
  products_.Multiply(dy, x, MatrixOf(layer->dw.data(), out, in), {.a_transposed = true});
  if (!has_input_gradient) return;
  products_.Multiply(dy, weights, MatrixOf(layer->dx.data(), batch_, in));
}

}  // namespace rowhouse
