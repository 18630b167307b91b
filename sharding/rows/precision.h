// Precision: the format in which the weights of a table's rows are kept. Whatever it is, weights
// are pulled, pooled and updated as f32 (sharding/rows/record_weights.h), and optimizer state is
// f32.
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
