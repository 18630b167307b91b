// ckpt inspect: one row of a saved model: where it lies, how often it was looked up, its weights
// and optimizer state.
//
// Threads: one.
#pragma once

#include <string>

#include "common/status.h"
#include "launch/model/ckpt_figures.h"
#include "launch/model/saved_rows.h"

namespace rowhouse {

// `table`: a physical table by name; `row`: its number, as text. A row that was never pushed has
// its initial value. kUsage, and nothing in `out`, for an unknown table, a row beyond it, and rows
// that cannot be opened here.
Status InspectRow(const SavedRows& model, const std::string& table, const std::string& row,
                  CkptFigures* out);

}  // namespace rowhouse
