// The weights of a record as f32, whatever precision they are kept in: read exactly, rounded when
// they are written (common/kernels/half_precision.h).
//
// Threads: any. Requires spans of layout.dim floats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "common/kernels/half_precision.h"
#include "common/types.h"
#include "sharding/rows/optimizer.h"
#include "sharding/rows/record.h"
#include "sharding/tables/table_spec.h"

namespace rowhouse {

// Requires a table that is valid and the optimizer it names. Of whole rows, or of `columns` of
// them.
RecordLayout LayoutOf(const TableSpec& table, const Optimizer& optimizer);
RecordLayout LayoutOf(const TableSpec& table, const Optimizer& optimizer, uint32_t columns);

// That of a record of `bytes` which begins at first_column, or nothing if no cut of the table's
// columns has such records.
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

// First values: rounded to nearest.
void WriteInitialWeights(const RecordLayout& layout, std::span<const float> weights,
                         std::byte* record);

// After an update: rounded stochastically.
void WriteUpdatedWeights(const RecordLayout& layout, const RoundingDraws& draws,
                         std::span<const float> weights, std::byte* record);

// Which columns of which row a record holds: [first_column, first_column + layout.dim).
struct RecordPlace {
  RowId row{};
  uint32_t first_column = 0;
};

// The draws that round the update of one row in one step; draw number c rounds column c of the
// whole row. A function of seed (that of first values), table name, row, column and step alone, so
// that neither plan, cache, worker nor a stop between steps changes a bit:
//   table key = MixKey(XXH3_64bits(seed = seed of the table, table name), "rounding")
//   key       = MixKey(MixKey(table key, row), step)
RoundingDraws RoundingOf(const TableSpec& table, const RecordPlace& place, uint64_t step);

}  // namespace rowhouse
