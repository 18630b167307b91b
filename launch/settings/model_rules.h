// DLRM's rules for the tables of a model: the kinds that DLRM's flags ask for, and which draws of
// its generator are the initial values of which table. Settings::Complete() and
// Settings::Validate() call them.
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

}  // namespace rowhouse
