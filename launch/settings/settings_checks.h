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

// ---- Schema and model: tables by the names of categorical columns -------------------------------

// Brings the schema's categorical columns into the order of the tables, which is that of features,
// and gives each the rows of its table. Leaves a schema alone that CheckSchemaFits refuses, or that
// names no columns because its format has them.
void FitSchemaToTables(Settings* settings);

// kUsage if a categorical column has no table of its name or a table no column, if the first width
// of arch_mlp_bot is not the number of dense columns (1 where there are none), or if weights of
// tokens meet a pooling that knows none. Requires settings that are Complete().
Status CheckSchemaFits(const Settings& settings);

}  // namespace rowhouse
