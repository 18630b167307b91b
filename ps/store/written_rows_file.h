// The sets of rows a shard has written (ps/store/written_rows.h), kept beside its store so that
// opening it again needs no scan. Little-endian:
//
//   magic "RHWROWS1", u64 stamp, u64 sets; of each set: u32 table, u32 first column, u64 first
//   position, u64 rows, u64 added, u64 bytes; the bytes of all sets; u32 crc32c of all before
//
// The file is a help and never the truth. `stamp` is RowStore::stamp() when it was written: one
// write more, and it is of no use. Whatever is not right about it (missing, torn, stale, other
// sets) means that the rows have to be scanned, which is always possible.
// Threads: one per path.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "common/status.h"
#include "ps/store/row_store.h"
#include "ps/store/written_rows.h"

namespace rowhouse {

// The written rows of one slice; positions are counted from first_position on.
struct WrittenSlice {
  TableId table{};
  uint16_t first_column = 0;
  uint64_t first_position = 0;
  WrittenRows* rows = nullptr;
};

// The file of these sets as they are now, but for what only their store knows, the stamp, and so
// without the checksum: as large as the sets.
std::string ImageOfWrittenRows(std::span<const WrittenSlice> slices);

// Completes the image and replaces the file by it, whole or not at all. Requires stamp != 0.
Status SaveWrittenRows(const std::string& path, uint64_t stamp, std::string image);

// Fills the sets from the file if it is whole, of this stamp, and of just these sets, all made with
// the arguments they had when it was written. Otherwise changes nothing and says why: kNotFound,
// kCorruption, or kUsage for one that is stale or of other sets. A stamp of 0 is never right.
Status LoadWrittenRows(const std::string& path, uint64_t stamp,
                       std::span<const WrittenSlice> slices);

}  // namespace rowhouse
