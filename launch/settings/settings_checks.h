// Settings that contradict each other, though each alone is legal.
//
// Threads: pure functions.
#pragma once

#include "common/status.h"
#include "launch/settings/settings.h"

namespace rowhouse {

// kUsage if an option that stores or cache policies declare is given, and neither the chosen store
// nor the chosen policy takes it.
Status CheckStorageOptions(const NodeOptions& storage);

// kUsage, one sentence that names both settings and says what to do. `reads_data`: false for verbs
// that want no data file. Requires settings that are Complete().
Status CheckTogether(const Settings& settings, bool reads_data);

}  // namespace rowhouse
