// What one step does to the record of one row, wherever it lives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sharding/rows/optimizer.h"
#include "sharding/rows/record.h"
#include "sharding/rows/record_weights.h"
#include "sharding/rows/table_spec.h"

namespace rowhouse {

// The update of one row.
struct RecordUpdate {
  RowId row{};
  const float* gradient = nullptr;  // layout.dim floats, summed over all workers
  std::byte* record = nullptr;
};

// UpdateRecord for each of `rows`, which are distinct. `first_column`: of all of them.
void UpdateRecords(const TableSpec& table, const Optimizer& optimizer, const RecordLayout& layout,
                   uint32_t first_column, uint64_t step, float learning_rate,
                   std::span<const RecordUpdate> rows);

// Scales the row to the table's max_norm, runs the optimizer once and writes the trailer.
// `gradient`: summed over all workers; `learning_rate`: the run's. A record with LSN 0 was never
// pushed. Weights of 16 bits are widened first and rounded stochastically afterwards.
void UpdateRecord(const TableSpec& table, const Optimizer& optimizer, const RecordLayout& layout,
                  const RecordPlace& place, uint64_t step, float learning_rate,
                  std::span<const float> gradient, std::byte* record);

}  // namespace rowhouse
