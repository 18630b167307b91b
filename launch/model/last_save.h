// The saves of a model: the one in --model_dir, which a run makes when it ends, and checkpoints,
// which it makes while it goes on (docs/storage.md, "Saves in mid-run"):
//
//   <model_dir>/checkpoints/step-1200/   a model directory like any other (manifest.h), whose
//                                        manifest names the shards' parts and their checksums
//   <model_dir>/checkpoints/step-1200.tmp  the same, while it is made
//
// A checkpoint is whole if its files and all parts that can be seen from here are as its manifest
// says. Threads: one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/file_lock.h"
#include "common/status.h"
#include "launch/model/manifest.h"

namespace rowhouse {

// <model_dir>/checkpoints/step-<steps>, or <model_dir>/checkpoints/<name>.
std::string CheckpointDirectory(const std::string& model_dir, uint64_t steps);
std::string CheckpointDirectory(const std::string& model_dir, const std::string& name);

// Steps of the checkpoints that have a manifest, whole or not; ascending.
std::vector<uint64_t> CheckpointsOf(const std::string& model_dir);

// The directories of all checkpoints, also of those without a manifest; by ascending steps.
std::vector<std::string> CheckpointDirectoriesOf(const std::string& model_dir);

// Deletes the directories of all checkpoints but those of `kept` and those that somebody reads
// (model_lock.h), and what cut-off attempts left; each one loses its name first. Returns the steps
// of those that stay. The parts of the shards are deleted by the shards (common/wire/checkpoint.h).
Result<std::vector<uint64_t>> DeleteCheckpointsExcept(std::vector<uint64_t> kept,
                                                      const std::string& model_dir);

// The model directory whose checkpoint lies in `model_dir`; "" if that is none.
std::string ModelOfCheckpoint(const std::string& model_dir);

// Where `rowhouse` finds the rows of the model in `model_dir`, which may be a checkpoint's
// directory: `row_dir` ("": the rows beside the model), or, for a checkpoint, the place of its
// parts there.
std::string RowDirectoryOf(const std::string& model_dir, const std::string& row_dir);

struct LastSave {
  std::string directory;   // with all files but the rows: the model directory or the checkpoint's
  std::string checkpoint;  // "step-1200", where the rows are its parts; "": the shards' own rows
  // With the shards' directories, or their parts, where they were found.
  Manifest manifest;
  // Of a checkpoint: nobody deletes it as long as this is held.
  std::shared_ptr<const FileLock> hold;
};

// The save that a run goes on from: the one in `model_dir` if no run has changed its rows since, or
// the newest whole checkpoint if that is as new. Warns of checkpoints that are not whole, and of
// files of a save whose manifest is gone. `host`:
// this machine; parts on others are taken to be whole, and are checked by their PS nodes. kUsage
// with the reason if there is none; kCorruption, naming the file, if the save in `model_dir` would
// count and is damaged: no checkpoint takes its place unasked.
Result<LastSave> FindLastSave(const std::string& model_dir, const std::string& row_dir,
                              const std::string& host);

// The checkpoint of this many steps. kCorruption if it is not whole, or gone; kUnavailable: it is
// being deleted. `host`: as above.
Result<LastSave> OpenCheckpoint(const std::string& model_dir, uint64_t steps,
                                const std::string& row_dir, const std::string& host);

}  // namespace rowhouse
