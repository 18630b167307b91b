// A shard's part of a checkpoint: its rows after a number of steps, in files that nobody changes,
// on the file system of the shard's directory. Where <row_dir>/shard-0003 is that directory:
//
//   <row_dir>/checkpoints/step-1200/shard-0003/
//       rows/          a RocksDB checkpoint: the .sst files are hard links of the store's files
//       deltas/        delta files of rows that the store has older or not at all, hard links of
//                      the shard's (delta_file.h, part_maker.h)
//       OWNER.json, STATE.json   (directory_state.h); the state is "clean" after 1200 steps
//       written_rows   (written_rows_file.h), where the shard keeps it
//   <row_dir>/checkpoints/step-1200/shard-0003.tmp   the same, while it is made
//
// A part is renamed into place when all of it is on disk. It is whole if its checksum is the one
// that the checkpoint's manifest names: XXH3-128 of the names and sizes of all its files and of the
// contents of those that are neither .sst nor delta files. RocksDB's own MANIFEST is among these,
// and lists the .sst files with their checksums; their blocks have others, which are verified at
// every read. STATE.json lists the delta files with their digests.
//
// Links take no room at first; they keep the bytes of files that the store itself has compacted and
// deleted since, so a part holds at most the size of all rows.
//
// Errors name the path; kResourceExhausted for a full disk. Threads: one per shard directory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "ps/store/directory_state.h"
#include "ps/store/row_store.h"
#include "ps/store/written_rows_file.h"

namespace rowhouse {

// "step-1200".
std::string CheckpointName(uint64_t steps);
// The steps in such a name; nothing for any other name. Names come from peers and from directories.
std::optional<uint64_t> StepsOfCheckpoint(std::string_view name);

// The part of the shard that has this directory. Whether it exists is another question.
std::string CheckpointPart(const std::string& shard_directory, const std::string& name);

struct PartFacts {
  std::string checksum;  // 32 hex digits
  uint64_t bytes = 0;    // of all files
};
// kNotFound if there is no such part.
Result<PartFacts> SumUpPart(const std::string& part);
// kCorruption unless the part has this checksum. kNotFound as above.
Status CheckPart(const std::string& part, const std::string& checksum);

// Names of the checkpoints that have a part of the shard and of `owner`'s model, by step: the
// part's own OWNER.json says so.
Result<std::vector<std::string>> PartsOf(const DirectoryOwner& owner,
                                         const std::string& shard_directory);

// A part is made in two steps: CutPart takes the rows that the store has now, what was Put after
// the last Sync too; FinishPart adds the rest and renames it. An old part of this name is replaced.
struct PartContents {
  uint64_t steps = 0;
  std::string stamp;                                // as CutPart returned it
  std::span<const WrittenSlice> written_rows = {};  // kept in it; none: nothing is
  std::vector<SavedDelta> deltas = {};              // files in DeltaDirectory(shard_directory)
};
Result<std::string> CutPart(RowStore& store, const std::string& shard_directory,
                            const std::string& name);
Result<PartFacts> FinishPart(const std::string& shard_directory, const std::string& name,
                             PartContents contents);
// Deletes what CutPart or a FinishPart that failed left.
void AbandonPart(const std::string& shard_directory, const std::string& name);

// Deletes the shard's parts of the checkpoints that are named, where PartsOf() has them; other
// names are passed over. Also deletes what cut-off attempts to make a part of this shard left.
Status DeleteParts(const std::vector<std::string>& names, const DirectoryOwner& owner,
                   const std::string& shard_directory);

// Makes `directory`, which holds no rows yet, from a part, or from the directory of a shard that
// nobody changes, without its push log: links files that are never changed, or copies them where
// the file system has no links, and copies the others, so that the part does not change when the
// copy does. All of it is on disk when this returns. On an error nothing is left.
Status CopyPart(const std::string& part, const std::string& directory);

// Room on a disk, taken so that nobody else gets it. A crash frees it.
class ReservedRoom {
 public:
  ReservedRoom() = default;
  ~ReservedRoom() { Free(); }
  ReservedRoom(const ReservedRoom&) = delete;
  ReservedRoom& operator=(const ReservedRoom&) = delete;

  // kResourceExhausted if the file system of `directory` has fewer bytes. Where it cannot
  // reserve any, they are only compared with what is free.
  Status Take(const std::string& directory, uint64_t bytes);
  void Free();

 private:
  int file_ = -1;
};

}  // namespace rowhouse
