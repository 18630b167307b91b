// Rules for the tables of a model and their optimizers. DLRM's: the kinds that DLRM's flags ask
// for, and which draws of its generator are the initial values of which table; and what settings of
// optimizers mean together. Settings::Complete() and Settings::Validate() call them.
//
// Threads: one, that of the settings.
#pragma once

#include "common/status.h"
#include "launch/settings/settings.h"

namespace rowhouse {

// Gives plain tables without options the kind that qr_flag or md_flag asks for, by their size.
void CompressTables(Settings* settings);
// kUsage if both flags are given, or one of them with weights of ids.
Status CheckCompression(const Settings& settings);

// Sets printing_draws, and first_draw of each table that numpy's generator draws, one after the
// other; tables that DLRM draws with torch get initialiser counter instead of dlrm. Draws that do
// not fit 64 bits are UINT64_MAX, which CheckTables() refuses where they are needed.
void AssignDraws(Settings* settings);

// kUsage, naming the table, if its optimizer or initialiser is unknown or refuses its options, or
// if its vectors cannot be combined with the others in the interaction. Requires settings that are
// Complete().
Status CheckTables(const Settings& settings);

// ---- Optimizers ---------------------------------------------------------------------------------

// Removes options that were given for the whole run from tables whose optimizer does not take them.
void ForgetUselessOptimizerOptions(Settings* settings);
// kUsage if neither the rows nor the dense part have a use for one, or if a rate of the dense part
// is no multiple of the rows'.
Status CheckOptimizers(const Settings& settings);

// The rate of each table that has one of its own, as a multiple of the run's.
void SetRateFactors(Settings* settings);
// kUsage, naming the table, if its rate cannot be such a multiple because the run's rate is 0 or
// too small.
Status CheckRateFactors(const Settings& settings);

// As Settings::dense_optimizer_options() says.
DenseOptimizerOptions DenseOptionsOf(const Settings& settings);

}  // namespace rowhouse
