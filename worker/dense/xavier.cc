#include "worker/dense/xavier.h"

#include <glog/logging.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>

#include "common/random.h"

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
      case InitialValues::kXavierNormal:
        FillXavierNormal(seed, block.name, block.rows, block.columns, values);
        break;
      case InitialValues::kXavierUniform:
        FillXavierUniform(seed, block.name, block.rows, block.columns, values);
        break;
    }
  }
}

}  // namespace rowhouse
