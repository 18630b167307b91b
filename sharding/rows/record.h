// A stored record: weights in the table's precision, filled up with zeros to 4 bytes, optimizer
// state f32, then 16 bytes {LSN u64, last step u32, lookups u32}, little-endian. Cache and store
// move it as one block of bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rowhouse {

// The format in which cache and store keep the weights of a table. Pooling, updates and optimizer
// state are f32 in each (sharding/rows/record_weights.h).
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

// The numbers, f32 or bf16, that rows are looked up in and that workers give as gradients
// (--pull_precision, --push_precision). A lookup reads a row's weights rounded to `pull`; each
// worker's summed gradient of a row is rounded to `push` before those of workers are summed. This
// is so wherever rows lie, so that no plan changes a bit; messages carry the rounded numbers.
// Rounding is to nearest, ties to even. A NaN or infinity stays one, and is found as in f32; a
// finite number beyond the largest finite bf16 becomes that one.
struct RowPrecision {
  Precision pull = Precision::kF32;
  Precision push = Precision::kF32;

  bool operator==(const RowPrecision&) const = default;
};

struct RecordTrailer {
  uint64_t lsn = 0;        // log sequence number of the last change: its step + 1
  uint32_t last_step = 0;  // step of the last push that touched the row
  uint32_t frequency = 0;  // lookups counted so far, saturating; advisory
};
static_assert(sizeof(RecordTrailer) == 16);

// Slices begin at multiples of this many columns, because sums over a row are made of partial sums
// of this many columns (sharding/rows/optimizer.h): their bits do not depend on the plan.
inline constexpr uint32_t kColumnsPerCut = 16;

// Where weights, state and trailer lie in the records of a table, or of a range of its columns.
struct RecordLayout {
  uint32_t dim = 0;
  uint32_t state_floats = 0;
  Precision precision = Precision::kF32;

  size_t weight_bytes() const { return (dim * BytesOfWeight(precision) + 3) / 4 * 4; }  // of all
  size_t bytes() const {
    return weight_bytes() + state_floats * sizeof(float) + sizeof(RecordTrailer);
  }

  // Records are 4-byte aligned; the trailer is copied because its LSN may not be 8-byte aligned.
  // `weights` require f32; sharding/rows/record_weights.h reads and writes those of any precision.
  std::span<float> weights(std::byte* record) const {
    return {reinterpret_cast<float*>(record), dim};
  }
  std::span<const float> weights(const std::byte* record) const {
    return {reinterpret_cast<const float*>(record), dim};
  }
  std::span<float> state(std::byte* record) const {
    return {reinterpret_cast<float*>(record + weight_bytes()), state_floats};
  }
  std::span<const float> state(const std::byte* record) const {
    return {reinterpret_cast<const float*>(record + weight_bytes()), state_floats};
  }
  RecordTrailer trailer(const std::byte* record) const {
    RecordTrailer trailer;
    std::memcpy(&trailer, record + bytes() - sizeof(trailer), sizeof(trailer));
    return trailer;
  }
  void set_trailer(std::byte* record, const RecordTrailer& trailer) const {
    std::memcpy(record + bytes() - sizeof(trailer), &trailer, sizeof(trailer));
  }
};

// Adds to a record's count of lookups, which saturates.
inline void CountLookups(const RecordLayout& layout, std::byte* record, uint32_t lookups) {
  RecordTrailer trailer = layout.trailer(record);
  const uint64_t sum = uint64_t{trailer.frequency} + lookups;
  trailer.frequency = static_cast<uint32_t>(sum < UINT32_MAX ? sum : UINT32_MAX);
  layout.set_trailer(record, trailer);
}

}  // namespace rowhouse
