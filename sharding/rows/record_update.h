// What one step does to the record of one touched row: the same wherever the row lives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sharding/rows/optimizer.h"
#include "sharding/rows/record.h"
#include "sharding/rows/record_weights.h"
#include "sharding/tables/table_spec.h"

namespace rowhouse {

// `gradient` is summed over all workers; `learning_rate` is the run's. Rows with a max_norm are
// first scaled as the workers scaled the copies they computed the gradient with; then the optimizer
// runs once; the trailer says so. A record whose LSN is 0 was never pushed. Weights of another
// precision than f32 are widened first, and rounded stochastically at last.
void UpdateRecord(const TableSpec& table, const Optimizer& optimizer, const RecordLayout& layout,
                  const RecordPlace& place, uint64_t step, float learning_rate,
                  std::span<const float> gradient, std::byte* record);

}  // namespace rowhouse
