// Reads the weights of a record as f32 and writes them back, in any precision. Reading is exact,
// writing rounds (common/kernels/half_precision.h).
//
// Threads: any. Requires spans of layout.dim floats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "common/kernels/half_precision.h"
#include "common/status.h"
#include "common/types.h"
#include "sharding/rows/optimizer.h"
#include "sharding/rows/record.h"
#include "sharding/rows/table_spec.h"

namespace rowhouse {

// The layout of records of whole rows, or of `columns` columns of them. Requires a valid table and
// the optimizer that it names.
RecordLayout LayoutOf(const TableSpec& table, const Optimizer& optimizer);
RecordLayout LayoutOf(const TableSpec& table, const Optimizer& optimizer, uint32_t columns);

// The layout of a record of `bytes` that begins at first_column; nothing if no range of the table's
// columns has records of that size.
std::optional<RecordLayout> LayoutOfRecord(const TableSpec& table, const Optimizer& optimizer,
                                           uint32_t first_column, size_t bytes);

void WidenWeights(const RecordLayout& layout, const std::byte* record, std::span<float> weights);

inline void ReadWeights(const RecordLayout& layout, const std::byte* record,
                        std::span<float> weights) {
  if (layout.precision == Precision::kF32) {
    std::memcpy(weights.data(), record, size_t{layout.dim} * sizeof(float));
  } else {
    WidenWeights(layout, record, weights);
  }
}

// ---- Numbers as RowPrecision has them -----------------------------------------------------------
// `precision`: f32 or bf16. `numbers`: this many of it, one after the other.

void PackNumbers(Precision precision, std::span<const float> values, std::byte* numbers);
void UnpackNumbers(Precision precision, const std::byte* numbers, std::span<float> values);
// sums += numbers
void AddNumbers(Precision precision, const std::byte* numbers, std::span<float> sums);
// In place: what packing and unpacking would give.
inline void RoundNumbers(Precision precision, std::span<float> values) {
  if (precision != Precision::kF32) RoundToNearestBf16(values);
}
// The weights of a record, packed: layout.dim numbers.
void ConvertWeights(Precision precision, const RecordLayout& layout, const std::byte* record,
                    std::byte* numbers);

inline void PackWeights(Precision precision, const RecordLayout& layout, const std::byte* record,
                        std::byte* numbers) {
  if (layout.precision == precision) {
    std::memcpy(numbers, record, layout.dim * BytesOfWeight(precision));
  } else {
    ConvertWeights(precision, layout, record, numbers);
  }
}

// ---- Writing ------------------------------------------------------------------------------------

// Initial weights: rounds to nearest.
void WriteInitialWeights(const RecordLayout& layout, std::span<const float> weights,
                         std::byte* record);

// Weights after an update: rounds stochastically.
void WriteUpdatedWeights(const RecordLayout& layout, const RoundingDraws& draws,
                         std::span<const float> weights, std::byte* record);

// Which columns of which row a record holds: [first_column, first_column + layout.dim).
struct RecordPlace {
  RowId row{};
  uint32_t first_column = 0;
};

// The draws that round the update of one row in one step; draw number c rounds column c of the
// whole row. They depend on the initialiser's seed, table name, row, column and step alone, so that
// plan, cache, workers and restarts change no bit:
//   table key = MixKey(XXH3_64bits(seed = seed of the table, table name), "rounding")
//   key       = MixKey(MixKey(table key, row), step)
RoundingDraws RoundingOf(const TableSpec& table, const RecordPlace& place, uint64_t step);

// Whether all weights and optimizer state of a record are finite. A NaN or infinity would spoil
// whatever is computed with the row, now or after the model is loaded. Requires layout.dim <=
// TableSpec::kMaxDim.
bool IsFiniteRecord(const RecordLayout& layout, const std::byte* record);

// kInternal, naming table, row, its last step and the first value that is not finite. Requires a
// record that is not finite.
Status NotFiniteError(const TableSpec& table, const RecordLayout& layout, const RecordPlace& place,
                      const std::byte* record);

}  // namespace rowhouse
