// Bytes of a model's tables, and the largest vocabularies that fit into a memory, computed without
// a run (sharding/tables/table_sizes.h); for `rowhouse plan --sizes`. Threads: pure function.
#pragma once

#include <cstdint>

#include "launch/figures/figures.h"
#include "launch/settings/settings.h"

namespace rowhouse {

inline constexpr int kSizePlanFormat = 1;

// Requires settings that are Validate()d. `memory_bytes`: for the vocabularies, one for each size
// of each registered kind, by name, of the dim and optimizer of the settings. Bytes in powers of
// 1024 for a terminal. JSON, format 1: tables [...], physical_tables [...], totals, cache (weights
// of one PS node), shards (of ps, ps_endpoints and shards; one PS node by default), vocabularies.
// Unbounded numbers of ids, and vocabularies that a kind refuses, are null.
Figures SizeFigures(const Settings& settings, uint64_t memory_bytes);

}  // namespace rowhouse
