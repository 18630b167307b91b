// MoveJournal: which parts of a move are done, so that a move that was cut off goes on where it
// was. A text file of one line a range, each fsynced: XXH3-128 of the rest in hex, a blank, and
// JSON:
//
//   {"format": 1, "move": digest of what is moved where}
//   {"table": 3, "first": 0, "end": 4096, "parts": [{"shard": 5, "rows": 4096,
//    "digest": [high, low], "files": [{"name": ..., "bytes": ..., "checksum": hex}]}]}
//
// A line that was cut off, or is not as it was written, is passed over, and all after it. Threads:
// any, for Append; else one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/mutex.h"
#include "common/status.h"
#include "common/types.h"
#include "ps/store/row_store.h"
#include "sharding/rows/rows_digest.h"

namespace rowhouse {

// What one shard got of a range of rows.
struct MovedPart {
  ShardId shard{};
  uint64_t rows = 0;  // records
  RowsDigest digest;
  std::vector<RowFile> files;  // paths are names in the shard's directory of moved files
};

// A range of rows that is moved as a whole: each record of it was read once.
struct MovedRange {
  RowRange range;
  std::vector<MovedPart> parts;
};

class MoveJournal {
 public:
  // Reads the file, if it is of this move; else begins a new one in its place. `move`: says what is
  // moved where. Errors as common/durable_file.h.
  static Result<std::unique_ptr<MoveJournal>> Open(const std::string& path,
                                                   const std::string& move);
  // Whether the file is there, and of this move.
  static bool IsOf(const std::string& path, const std::string& move);
  ~MoveJournal();
  MoveJournal(const MoveJournal&) = delete;
  MoveJournal& operator=(const MoveJournal&) = delete;

  const std::vector<MovedRange>& done() const { return done_; }  // when it was opened
  // On disk when this returns.
  Status Append(const MovedRange& moved);

 private:
  MoveJournal(std::string path, int file) : path_(std::move(path)), file_(file) {}

  const std::string path_;
  const int file_;
  std::vector<MovedRange> done_;
  Mutex mutex_;
};

}  // namespace rowhouse
