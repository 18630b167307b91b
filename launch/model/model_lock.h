// Locks on a model directory and on its checkpoints, so that a run and those who read the model do
// not harm each other (docs/storage.md, "Several processes and one model"):
//
//   <model_dir>/run.lock                              exclusive: a run that trains, or compacts;
//                                                     shared: who reads the save at its end
//   <model_dir>/checkpoints/step-1200/manifest.json   shared: who reads the checkpoint; exclusive:
//                                                     the run, while it deletes it
//
// Locks end with their process, so that a killed one blocks nobody. They hold over hosts as far as
// the file system's do. Threads: any.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "common/file_lock.h"
#include "common/status.h"

namespace rowhouse {

// How long a run waits for others to end: who reads the save that it goes on from, or a run that
// was killed, whose processes hold the lock until the system has taken their memory away.
inline constexpr std::chrono::milliseconds kWaitForOthers{10000};

// For a run that writes into `model_dir`, from before it changes anything to its end. kUsage if
// another run or a reader does not end within `wait` (the message names the run, as far as it is
// known); if the lock cannot be taken; or if the directory holds files, but no model, and no run
// has been at work in it: they are somebody's own. Null if it is not there.
Result<std::unique_ptr<FileLock>> LockModelForRun(const std::string& model_dir,
                                                  std::chrono::milliseconds wait = kWaitForOthers);

// For who reads the save in `model_dir` itself. kUsage as above if a run is at work. Null if
// there is no lock file, as no run has been here, or, with a warning, if it cannot be locked.
// `model_dir` may be a checkpoint's.
Result<std::unique_ptr<FileLock>> LockModelForReading(const std::string& model_dir);

// For who reads a checkpoint: as long as it is held, it is not deleted. kUnavailable or kNotFound:
// it is being deleted, or gone.
Result<std::unique_ptr<FileLock>> HoldCheckpoint(const std::string& directory);

// For who deletes one. kUnavailable: somebody reads it; other errors: the lock cannot be taken.
// Null: it has no manifest, so nobody reads it.
Result<std::unique_ptr<FileLock>> LockToDelete(const std::string& directory);

// For who writes an output. kUsage, which begins with `path`, if a file or directory there would
// lie in a model directory or one of its checkpoints, in a row directory, or in a directory of
// converted data, at any depth: it might take the place of one of their files. `own`: directories
// of this run, which may not be made yet; "" is none. A link is followed; a stream, and "-", lie
// nowhere.
Status CheckOutsideModels(const std::string& path, const std::vector<std::string>& own = {});

}  // namespace rowhouse
