// Rows of a save in mid-run: a store, and delta files of rows that were in memory only. Of a row
// that several of them have, the record with the highest LSN counts.
//
// Who opens the rows of a directory calls OpenRowsOf, so that no delta file is passed over.
//
// Errors name the file: kNotFound if one is missing, kCorruption if one is not as it was written.
// Threads: as RowStore.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "ps/store/delta_file.h"
#include "ps/store/directory_state.h"
#include "ps/store/opening.h"
#include "ps/store/row_store.h"

namespace rowhouse {

// Compares each file with its size and digest. `advance` as CheckFile (common/digest.h).
Status CheckDeltas(const std::string& directory, std::span<const SavedDelta> deltas,
                   const std::function<Status(uint64_t)>& advance = {});

// The rows that lie in <directory>/rows, and those of the delta files that `state` names.
// `options.path` and `options.expected_stamp` are filled in. With delta files, kInternal unless
// options.read_only: they are put into the store first (PutDeltas). `progress`, which may be null,
// counts the delta files and rows that are read and sorted; once it is stopped, so is this.
Result<std::unique_ptr<RowStore>> OpenRowsOf(const std::string& directory,
                                             const DirectoryState& state, const std::string& store,
                                             RowStoreOptions options,
                                             OpeningProgress* progress = nullptr);

// Puts the newest record of each row of the delta files into `store`, unless that has one of the
// same LSN or a later one, and syncs. `progress` counts as above, and the bytes that are put. Where
// the store cannot keep up, a Put is tried again until `progress` is stopped; kResourceExhausted
// for a full disk.
Status PutDeltas(const std::string& directory, std::span<const SavedDelta> deltas, RowStore& store,
                 OpeningProgress& progress);

// Makes a copy of a part of a checkpoint a shard's directory like any other: the rows of its delta
// files are put into its store. Threads: one per directory.
//
// `directory`: the copy of `part`. `checksum`: the part's, which is noted in the state of the copy
// (DirectoryState::routed_from).
// `store`: a name of RowStores(). A crash leaves a copy that is no part any more; another is to be
// made. kCorruption, naming the file, for a damaged delta file.
Status PutDeltasIntoCopy(const std::string& part, const std::string& directory,
                         const std::string& checksum, const std::string& store,
                         const RowStoreOptions& options, OpeningProgress& progress);

}  // namespace rowhouse
