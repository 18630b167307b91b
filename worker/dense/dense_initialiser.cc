#include "worker/dense/dense_initialiser.h"

#include <glog/logging.h>

#include <cmath>

namespace rowhouse {

void InitialiseDense(const std::vector<DlrmModel::LayerView>& layers, NumpyRandom* random,
                     std::span<float> parameters) {
  const auto draw = [random](double variance, std::span<float> values) {
    const double deviation = std::sqrt(variance);
    for (float& value : values) value = static_cast<float>(random->Normal(0.0, deviation));
  };
  for (const DlrmModel::LayerView& layer : layers) {
    CHECK_LE(layer.bias + layer.out, parameters.size());
    const double in = layer.in, out = layer.out;
    draw(2.0 / (in + out), parameters.subspan(layer.weights, size_t{layer.in} * layer.out));
    draw(1.0 / out, parameters.subspan(layer.bias, layer.out));
  }
}

}  // namespace rowhouse
