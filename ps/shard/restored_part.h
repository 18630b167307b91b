// Makes a copy of a part of a checkpoint a shard's directory like any other: the rows of its delta
// files are put into its store.
//
// Threads: one per directory.
#pragma once

#include <string>

#include "common/status.h"
#include "ps/store/opening_progress.h"
#include "ps/store/row_store.h"

namespace rowhouse {

// `directory`: the copy of `part`. `checksum`: the part's, which is noted in the state of the copy
// (DirectoryState::routed_from).
// `store`: a name of RowStores(). A crash leaves a copy that is no part any more; another is to be
// made. kCorruption, naming the file, for a damaged delta file.
Status PutDeltasIntoCopy(const std::string& part, const std::string& directory,
                         const std::string& checksum, const std::string& store,
                         const RowStoreOptions& options, OpeningProgress& progress);

}  // namespace rowhouse
