// Precision: the format in which cache and store keep the weights of a table. Pulls, pooling,
// updates and optimizer state are f32 in each (sharding/rows/record_weights.h).
//
// Threads: plain data; any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rowhouse {

enum class Precision : uint8_t { kF32, kBf16, kF16 };

// By value of the enum.
inline const std::vector<std::string>& PrecisionNames() {
  static const std::vector<std::string> names = {"f32", "bf16", "f16"};
  return names;
}

inline std::optional<Precision> FindPrecision(const std::string& name) {
  for (size_t i = 0; i < PrecisionNames().size(); ++i) {
    if (PrecisionNames()[i] == name) return static_cast<Precision>(i);
  }
  return std::nullopt;
}

constexpr size_t BytesOfWeight(Precision precision) { return precision == Precision::kF32 ? 4 : 2; }

}  // namespace rowhouse
