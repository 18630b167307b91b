#include "worker/dense/dense_initialiser.h"

#include <glog/logging.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>

#include "common/random.h"
#include "sharding/rows/initialiser.h"

namespace rowhouse {
namespace {

uint64_t KeyOf(uint64_t seed, std::string_view name) {
  return MixKey(seed, XXH3_64bits(name.data(), name.size()));
}

}  // namespace

void FillXavierNormal(uint64_t seed, std::string_view name, uint32_t rows, uint32_t columns,
                      std::span<float> out) {
  CHECK_EQ(out.size(), size_t{rows} * columns);
  const uint64_t key = KeyOf(seed, name);
  const double deviation = std::sqrt(2.0 / (static_cast<double>(rows) + columns));
  for (uint64_t i = 0; i < out.size(); ++i) {
    const double normal = ToNormal(MixBits(key, 2 * i), MixBits(key, 2 * i + 1));
    out[i] = static_cast<float>(deviation * normal);
  }
}

void FillXavierUniform(uint64_t seed, std::string_view name, uint32_t rows, uint32_t columns,
                       std::span<float> out) {
  CHECK_EQ(out.size(), size_t{rows} * columns);
  const uint64_t key = KeyOf(seed, name);
  const double bound = std::sqrt(6.0 / (static_cast<double>(rows) + columns));
  for (uint64_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<float>(bound * (2.0 * ToUnitDouble(MixBits(key, i)) - 1.0));
  }
}

void FillInitialValues(uint64_t seed, DenseParameters* parameters) {
  for (size_t b = 0; b < parameters->blocks().size(); ++b) {
    const DenseParameters::Block& block = parameters->blocks()[b];
    const std::span<float> values = parameters->values(b);
    switch (block.initial_values) {
      case InitialValues::kZero:
        std::ranges::fill(values, 0.0f);
        break;
      case InitialValues::kOne:
        std::ranges::fill(values, 1.0f);
        break;
      case InitialValues::kXavierNormal:
        FillXavierNormal(seed, block.name, block.rows, block.columns, values);
        break;
      case InitialValues::kXavierUniform:
        FillXavierUniform(seed, block.name, block.rows, block.columns, values);
        break;
    }
  }
}

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
