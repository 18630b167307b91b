// ckpt stats: the tables and shards of a saved model: rows, bytes, levels, files, and what its run
// pulled. Reads every row, and so checks every checksum.
//
// Threads: one.
#pragma once

#include <string>

#include "common/status.h"
#include "launch/model/ckpt_figures.h"
#include "launch/model/saved_rows.h"

namespace rowhouse {

// `model_dir`: where the report.json of the run that saved it may lie. kUsage, and nothing in
// `out`, for rows that cannot be opened here; kCorruption, naming shard and file, for damaged ones.
Status CollectStats(const SavedRows& model, const std::string& model_dir, CkptFigures* out);

}  // namespace rowhouse
