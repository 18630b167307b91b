// The two passes of a conversion over its text (worker/data/convert/converter.h).
//
// Threads: each is called by one thread and starts its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "worker/data/blocks/data_columns.h"
#include "worker/data/convert/conversion_state.h"
#include "worker/data/convert/converter.h"

namespace rowhouse {

// Counts tokens and adds up dense values where the schema needs it, and writes the preprocessing
// into `directory`. Returns the files that it has read, none if it had to read none.
Result<std::vector<DataOrigin>> MakePreprocessing(const TextFormat& format,
                                                  const ConversionOptions& options,
                                                  uint32_t threads, const std::string& directory);

// Whether MakePreprocessing reads the text.
bool HasFirstPass(const TextFormat& format, const ConversionOptions& options);

// Writes the samples as state->data_path(), going on where `state` says. `counted`: what
// MakePreprocessing returned in this call, to notice files that have changed since.
Status WriteData(const TextFormat& format, const ConversionOptions& options, uint32_t threads,
                 const std::vector<DataOrigin>& counted,
                 const std::shared_ptr<const Preprocessing>& preprocessing, ConversionState* state,
                 ConversionSummary* summary);

}  // namespace rowhouse
