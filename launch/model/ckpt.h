// rowhouse ckpt: looks into a saved model and compacts its rows.
//
//   ckpt inspect TABLE TOKEN  the rows of a token of the data: where each lies, how often it was
//                           looked up, weights and state. row=NUMBER names a row; of tables whose
//                           data had ids and no tokens, NUMBER does
//   ckpt stats              tables and shards: rows, bytes, levels, files, what its run pulled
//   ckpt compact            rewrites each shard's files so that each row is there once
//   ckpt export [TABLE ...] tables and dense parameters as files that other programs read
//
// inspect, stats and export change nothing in the model. Threads: the main thread.
#pragma once

#include <string>
#include <vector>

#include "common/status.h"
#include "launch/settings/settings.h"

namespace rowhouse {

// What the flags say that are no settings.
struct CkptFlags {
  std::string compression = "";  // of compact; "": what each shard's files have
  std::string json = "";         // where figures go (launch/figures/json_output.h)
  // Of export.
  std::string out = "";
  std::string format = "npy";
  bool is_stored = false;
  std::string untrained = "initial";
};

// `arguments`: {"inspect", TABLE, TOKEN}, {"stats"}, {"compact"} or {"export", TABLE ...}, of the
// model in settings.output.model_dir. Prints the figures, or delivers them as `flags.json` says.
// kUsage for unknown names and for rows on other hosts, in use, or left open by a run; kCorruption,
// naming shard and file, for damaged rows.
Status RunCkpt(const Settings& settings, const std::vector<std::string>& arguments,
               const CkptFlags& flags);

}  // namespace rowhouse
