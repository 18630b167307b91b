// rowhouse ckpt: looks into a saved model and compacts its rows.
//
//   ckpt inspect TABLE ID   one row: where it lies, how often it was looked up, weights and state
//   ckpt stats              tables and shards: rows, bytes, levels, files, what its run pulled
//   ckpt compact            rewrites each shard's files so that each row is there once
//
// inspect and stats change nothing. Threads: the main thread.
#pragma once

#include <string>
#include <vector>

#include "common/status.h"
#include "launch/settings/settings.h"

namespace rowhouse {

// `arguments`: {"inspect", TABLE, ID}, {"stats"} or {"compact"}, of the model in
// settings.output.model_dir. Prints the figures, or delivers them as `json` (the value of --json)
// says. `given_compression`: for compact; "": what each shard's files have. kUsage for unknown
// names and for rows on other hosts, in use, or left open by a run; kCorruption, naming shard and
// file, for damaged rows.
Status RunCkpt(const Settings& settings, const std::vector<std::string>& arguments,
               const std::string& given_compression, const std::string& json = "");

}  // namespace rowhouse
