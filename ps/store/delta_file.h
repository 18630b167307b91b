// A delta file: records of rows that changed since the save before, one after the other, as a shard
// wrote them beside its steps (ps/shard/saves.h). Little-endian:
//
//   magic "RHDELTA1"; blocks: u32 table, u32 first column, u32 record bytes, u32 rows,
//   u64 row of each, the record of each
//
// A row may be there several times, then with the same record. Whoever names the file keeps its
// size and digest (SavedDelta), which are compared before a record is used.
//
// Errors name the path; kResourceExhausted for a full disk. Threads: one a file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "common/digest.h"
#include "common/status.h"
#include "ps/store/row_store.h"

namespace rowhouse {

// A delta file beside the rows of a directory.
struct SavedDelta {
  uint64_t steps = 0;  // its records are those after this many steps
  FileDigest file;
  bool operator==(const SavedDelta&) const = default;
};

// Where the delta file of these steps lies in a shard's directory, or in a part of a checkpoint.
std::string DeltaDirectory(const std::string& directory);
std::string DeltaPath(const std::string& directory, uint64_t steps);

class DeltaWriter {
 public:
  // Makes the file anew.
  static Result<std::unique_ptr<DeltaWriter>> Open(const std::string& path);
  ~DeltaWriter();
  DeltaWriter(const DeltaWriter&) = delete;
  DeltaWriter& operator=(const DeltaWriter&) = delete;

  Status Add(const StoreWrite& write);
  // All of it is on disk when this returns.
  Result<FileDigest> Finish();

 private:
  DeltaWriter(std::string path, int file) : path_(std::move(path)), file_(file) {}
  Status Append(std::string_view bytes);

  const std::string path_;
  const int file_;
  uint64_t bytes_ = 0, started_writing_ = 0;
  Digester digester_;
};

// Calls visit(slice, rows, records) for each block of a file whose bytes are these. kCorruption if
// they are none of a delta file. `path`: for errors.
using DeltaVisitor = std::function<Status(const StoreSlice& slice, std::span<const std::byte> rows,
                                          std::span<const std::byte> records)>;
Status ReadDelta(std::span<const std::byte> bytes, const std::string& path,
                 const DeltaVisitor& visit);

}  // namespace rowhouse
