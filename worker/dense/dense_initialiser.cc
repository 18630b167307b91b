#include "worker/dense/dense_initialiser.h"

#include <glog/logging.h>

#include <cmath>

#include "sharding/rows/initialiser.h"
#include "worker/dense/xavier.h"

namespace rowhouse {
namespace {

uint64_t DrawsOf(const std::vector<TableSpec>& tables) {
  uint64_t draws = 0;
  for (const TableSpec& table : tables) {
    if (!Initialisers().DeclarationOf(table.initialiser).draws_in_turn) continue;
    draws += table.rows * table.dim;
  }
  return draws;
}

}  // namespace

void DrawMlps(const std::vector<DlrmModel::LayerView>& layers, NumpyRandom* random,
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

void InitialiseDense(uint64_t seed, const std::vector<TableSpec>& tables, NumpyRandom random,
                     const DlrmModel& model, DenseParameters* dense) {
  FillInitialValues(seed, dense);
  // Skipped as doubles, not as a number of words: a normal drawn for the data may have left another
  // for the weights.
  random.SkipDoubles(DrawsOf(tables));
  DrawMlps(model.layers(), &random, dense->values());
}

void InitialiseDense(uint64_t seed, const std::vector<TableSpec>& tables, const DlrmModel& model,
                     DenseParameters* dense) {
  FillInitialValues(seed, dense);
  NumpyRandom random = NumpyDraws(static_cast<uint32_t>(seed)).At(DrawsOf(tables));
  DrawMlps(model.layers(), &random, dense->values());
}

}  // namespace rowhouse
