// Whether all weights and optimizer state of a record are finite. A NaN or infinity would spoil
// whatever is computed with the row, now or after the model is loaded.
//
// Threads: any.
#pragma once

#include <cstddef>

#include "common/status.h"
#include "sharding/rows/record.h"
#include "sharding/rows/record_weights.h"
#include "sharding/rows/table_spec.h"

namespace rowhouse {

// Requires layout.dim <= TableSpec::kMaxDim.
bool IsFiniteRecord(const RecordLayout& layout, const std::byte* record);

// kInternal, naming table, row, its last step and the first value that is not finite. Requires a
// record that is not finite.
Status NotFiniteError(const TableSpec& table, const RecordLayout& layout, const RecordPlace& place,
                      const std::byte* record);

}  // namespace rowhouse
