// What lies beside the rows of a shard's directory: whose they are, and whether they may be
// trusted. Two small JSON files, each replaced whole and fsynced:
//
//   OWNER.json  {"format": 1, "model": uuid, "shard": 3, "shards": 8,
//                "plan_digest": hex, "config_digest": hex}
//               written once, before the first row
//   STATE.json  {"format": 1, "state": "open" | "clean", "step": 1200, "stamp": 77}
//               "open" before the first change of a run, "clean" after the last Sync; `step` is
//               the number of steps applied when it was written; `stamp`, of a clean one only, that
//               of the rows (RowStore::stamp), absent where older programs wrote it
//
// A reader refuses newer formats by name and reads older ones. Errors: kNotFound where a file is
// missing; kCorruption where it is not what was written; kUsage where the directory is not for
// this run, in a sentence that says what the operator can do. Threads: one per directory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/status.h"
#include "common/types.h"

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
  uint64_t stamp = 0;  // of the clean rows; 0: not known

  bool operator==(const DirectoryState&) const = default;
};

Status WriteOwner(const std::string& directory, const DirectoryOwner& owner);
Result<DirectoryOwner> ReadOwner(const std::string& directory);

Status WriteState(const std::string& directory, const DirectoryState& state);
Result<DirectoryState> ReadState(const std::string& directory);

// OK if rows of `expected` lie there; else the kUsage of the first difference, the most telling
// first: model, number of shards, shard, plan, config.
Status CheckOwner(const std::string& directory, const DirectoryOwner& found,
                  const DirectoryOwner& expected);

// OK if clean; else the kUsage that says a run did not end in order.
Status CheckClean(const std::string& directory, const DirectoryState& state);

// What a shard does before it opens its rows. A directory that is missing or empty is taken for
// `expected` and gives nothing; one of the same owner left clean gives its step. All else is an
// error of those above. On OK the directory exists and has an owner; its state is as it was.
Result<std::optional<uint64_t>> ClaimDirectory(const std::string& directory,
                                               const DirectoryOwner& expected);

}  // namespace rowhouse
