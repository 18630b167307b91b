// Two small JSON files in a shard's directory: whose rows lie there, and whether they are complete.
// Each is replaced atomically and fsynced:
//
//   OWNER.json  {"format": 1, "model": uuid, "shard": 3, "shards": 8,
//                "plan_digest": hex, "config_digest": hex}
//               written once, before the first row
//   STATE.json  {"format": 2, "state": "open" | "clean", "step": 1200, "stamp": hex}
//               "open" from the first change of a run on, "clean" after its last Sync; `step`:
//               steps applied when it was written; `stamp`: RowStore::stamp of clean rows, absent
//               where there is none; "routed_from", "rows_digest": see below,
//               may be absent
//               {"format": 3, ..., "deltas": [{"steps": 1200, "bytes": 9, "xxh3_128": hex}, ...]}
//               where there are delta files (delta_file.h), which older programs do not read
//
// A reader refuses other formats by name. Errors: kNotFound if a file is
// missing; kCorruption if it was damaged; kUsage if the directory is not for this run, with a
// sentence that says what the operator can do. Threads: one per directory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "common/types.h"
#include "ps/store/delta_file.h"

namespace rowhouse {

struct DirectoryOwner {
  std::string model;  // uuid text, given when the model directory was made
  ShardId shard{};
  uint32_t shards = 0;
  std::string plan_digest;    // which rows and columns belong to which shard
  std::string config_digest;  // what decides the numbers

  bool operator==(const DirectoryOwner&) const = default;
};

struct DirectoryState {
  bool is_clean = false;  // "clean": all rows are of the same step, and on disk
  uint64_t step = 0;
  std::string stamp = {};  // of the clean rows, as RowStoreOptions::expected_stamp; "": not known
  // Of rows that were routed here from the directories of another plan, or restored from a part
  // with delta files, until a run changes them: which rows those were; else "".
  std::string routed_from = {};
  // And their RowsDigest, where they were cut anew; else "".
  std::string rows_digest = {};
  // Of rows that the store does not have, or has older (rows_with_deltas.h).
  std::vector<SavedDelta> deltas = {};

  bool operator==(const DirectoryState&) const = default;
};

Status WriteOwner(const std::string& directory, const DirectoryOwner& owner);
Result<DirectoryOwner> ReadOwner(const std::string& directory);

Status WriteState(const std::string& directory, const DirectoryState& state);
Result<DirectoryState> ReadState(const std::string& directory);

// OK if the rows are those of `expected`; else kUsage that names the first difference in the order
// model, number of shards, shard, plan, config.
Status CheckOwner(const std::string& directory, const DirectoryOwner& found,
                  const DirectoryOwner& expected);

// OK if clean; else kUsage: a run ended without a save.
Status CheckClean(const std::string& directory, const DirectoryState& state);

// To be called before a shard's rows are opened. A missing or empty directory is claimed for
// `expected`: returns nullopt. A clean one of the same owner: returns its step. Otherwise an error
// as above. On OK the directory exists and has an owner; its state is unchanged.
Result<std::optional<uint64_t>> ClaimDirectory(const std::string& directory,
                                               const DirectoryOwner& expected);

}  // namespace rowhouse
