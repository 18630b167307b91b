// LayerProducts: what a step multiplies, by oneDNN and nothing else: the yardstick of steps and of
// cross layers. Threads: one caller.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "launch/lab/train_bench.h"
#include "worker/dense/matrix_product.h"

namespace rowhouse {

// `who`: RUSAGE_SELF, this process; RUSAGE_CHILDREN: the children that it has waited for, and those
// that these have waited for.
double CpuSecondsOf(int who);

// Times seven steps, after one to warm up.
StepTime MeasureSteps(const std::function<void()>& step);

class LayerProducts {
 public:
  // `precision`, kF32 or kBf16: of the operands; results are f32, as a layer's
  // (worker/dense/linear_layer.h). Requires HasProductsOf(precision).
  LayerProducts(const std::vector<LayerSize>& layers, uint64_t batch, ElementType precision);

  // Layer after layer: forward, gradient of the weights, gradient of the input.
  StepTime Measure(int threads);

 private:
  struct Operand {
    std::vector<float> values;
    std::vector<uint16_t> halves;  // of bf16, instead
    ConstMatrix Of(int64_t rows, int64_t columns) const;
  };
  struct Layer {
    LayerSize size;
    Operand x, weights;
    std::vector<float> y;  // in f32 also the gradient of the output
    Operand half_dy;       // of bf16
    std::vector<float> dx, dw;
  };
  void MultiplyAll(Layer* layer);

  const int64_t batch_;
  std::vector<Layer> layers_;
  MatrixProducts products_;
};

}  // namespace rowhouse
