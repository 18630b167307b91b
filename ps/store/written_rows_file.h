// A file with a shard's sets of written rows (ps/store/written_rows.h), kept beside its store so
// that opening it again needs no scan. Little-endian:
//
//   magic "RHWROWS1", u64 XXH3-64 of the stamp, u64 sets; of each set: u32 table, u32 first column,
//   u64 first position, u64 rows, u64 added, u64 bytes; the bytes of all sets; u32 crc32c of all
//   before
//
// The file is a hint. The stamp is RowStore::stamp() when it was written; after another Put the
// file is stale. If it is missing, torn, stale or of other sets, the rows are scanned instead.
// Threads: one per path.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "common/status.h"
#include "ps/store/row_store.h"
#include "ps/store/written_rows.h"

namespace rowhouse {

// Its name in a shard's directory.
inline constexpr const char* kWrittenRowsFile = "/written_rows";

// The written rows of one slice, whose first row has position first_position in its table.
struct WrittenSlice {
  TableId table{};
  uint16_t first_column = 0;
  uint64_t first_position = 0;
  WrittenRows* rows = nullptr;
};

// The bytes of the file for these sets as they are now. Stamp and checksum are missing, because
// only the store knows the stamp; SaveWrittenRows adds them. Takes as much memory as the sets.
std::string ImageOfWrittenRows(std::span<const WrittenSlice> slices);

// Completes the image and replaces the file atomically. Requires a stamp.
Status SaveWrittenRows(const std::string& path, const std::string& stamp, std::string image);

// Fills the sets from the file. On any error the sets are unchanged: kNotFound if there is no file;
// kCorruption if it is not whole; kUsage if its stamp is not `stamp`, if `stamp` is "", or if its
// sets are not these, made with the same arguments.
Status LoadWrittenRows(const std::string& path, const std::string& stamp,
                       std::span<const WrittenSlice> slices);

}  // namespace rowhouse
