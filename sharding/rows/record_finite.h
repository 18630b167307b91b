// Whether a record may be kept: one weight or float of optimizer state that is no number spoils
// whatever is computed with its row, now or after the model is loaded.
//
// Threads: any.
#pragma once

#include <cstddef>

#include "common/status.h"
#include "sharding/rows/record.h"
#include "sharding/rows/record_weights.h"
#include "sharding/tables/table_spec.h"

namespace rowhouse {

// Requires layout.dim <= TableSpec::kMaxDim.
bool IsFiniteRecord(const RecordLayout& layout, const std::byte* record);

// kInternal: what of a record that is not finite is so, naming table, row and its last step.
Status NotFiniteError(const TableSpec& table, const RecordLayout& layout, const RecordPlace& place,
                      const std::byte* record);

}  // namespace rowhouse
