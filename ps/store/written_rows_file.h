// The file of a shard's sets of written rows, beside its store: opening it again needs no scan.
// Little-endian:
//
//   magic "RHWROWS2", u64 XXH3-64 of the stamp, u64 sets, u32 crc32c of the heads of sets, u32
//   crc32c of the 28 bytes before; of each set, its head: u32 table, u32 first column, u64 first
//   position, u64 rows, u64 added, u64 bytes, u64 1 if it is exact, else 0; the bytes of each set
//   in pieces of 2^20 bytes, the last of a set shorter, and after each piece its u32 crc32c
//
// The file is a hint. The stamp is RowStore::stamp() when it was written; after another Put the
// file is stale. If it is missing, torn, stale or of other slices, the rows are scanned instead. A
// set that was made for another budget is not refused (WrittenRows::EmptyFor).
//
// The file may name rows that are not stored: sets are saved while rows are added to them. It never
// lacks one that is. It is read and written in pieces, without a second copy of a set.
//
// The file is replaced and never changed, so that it may be linked.
// Threads: one per path.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "common/status.h"
#include "common/types.h"
#include "ps/store/written_rows.h"

namespace rowhouse {

// Its name in a shard's directory.
inline constexpr const char* kWrittenRowsFile = "/written_rows";

// The written rows of one slice, whose first row has position first_position in its table.
struct WrittenSlice {
  TableId table{};
  uint16_t first_column = 0;
  uint64_t first_position = 0;
  std::shared_ptr<WrittenRows> rows;
};

// Replaces the file, whole or not at all, by one of these sets: all that were added before the
// call, and perhaps some that are added meanwhile, on another thread. Requires a stamp. Errors as
// common/durable_file.h.
Status SaveWrittenRows(const std::string& path, const std::string& stamp,
                       std::span<const WrittenSlice> slices);

// Fills the sets from the file; they must be empty, of the slices of the file, in its order, and
// take no more memory afterwards. On any error they are unchanged: kNotFound if there is no file;
// kCorruption if it is not whole; kUsage if its stamp is not `stamp`, if `stamp` is "", or if its
// sets are of other slices.
Status LoadWrittenRows(const std::string& path, const std::string& stamp,
                       std::span<const WrittenSlice> slices);

// Whether the file is of rows with this stamp and has a set that is not exact: a set that is filled
// from such a one guesses, too, however large it is. Reads the heads of its sets only.
bool GuessesWrittenRows(const std::string& path, const std::string& stamp);

// Gives the file another stamp: of a store whose files were rewritten, with the same rows. kUsage
// if its stamp was not `from`; other errors as above.
Status RestampWrittenRows(const std::string& path, const std::string& from, const std::string& to);

}  // namespace rowhouse
