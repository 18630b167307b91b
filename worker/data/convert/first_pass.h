// The first pass of a conversion over its text (worker/data/convert/converter.h): it makes the
// preprocessing.
//
// Threads: called by one thread, which starts its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"
#include "worker/data/blocks/data_columns.h"
#include "worker/data/convert/converter.h"

namespace rowhouse {

// Counts tokens and adds up dense values where the schema needs it, and writes the preprocessing
// into `directory`. Returns the files that it has read, none if it had to read none. *warnings:
// Fitting::Warnings.
Result<std::vector<DataOrigin>> MakePreprocessing(const TextFormat& format,
                                                  const ConversionOptions& options,
                                                  uint32_t threads, const std::string& directory,
                                                  std::vector<std::string>* warnings);

// Whether MakePreprocessing reads the text.
bool HasFirstPass(const TextFormat& format, const ConversionOptions& options);

}  // namespace rowhouse
