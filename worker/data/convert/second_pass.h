// The second pass of a conversion over its text (worker/data/convert/converter.h): it writes
// blocks.
//
// Threads: called by one thread, which starts its own.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/status.h"
#include "worker/data/blocks/data_columns.h"
#include "worker/data/convert/conversion_state.h"
#include "worker/data/convert/converter.h"

namespace rowhouse {

// Writes the samples as state->data_path(), going on where `state` says. `counted`: what
// MakePreprocessing returned in this call, to notice files that have changed since.
Status WriteData(const TextFormat& format, const ConversionOptions& options, uint32_t threads,
                 const std::vector<DataOrigin>& counted,
                 const std::shared_ptr<const Preprocessing>& preprocessing, ConversionState* state,
                 ConversionSummary* summary);

}  // namespace rowhouse
