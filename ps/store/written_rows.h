// WrittenRows: the set of rows of a slice that were ever written to the store. Others are not
// looked up there: their initial value is computed.
//
// If a bit for each row fits the budget, the set is a bitmap and exact. Else it is a split-block
// Bloom filter of the budget's size (Putze, Sanders, Singler, "Cache-, hash- and space-efficient
// Bloom filters", 2007; as in Apache Parquet): 8 bits in 32 bytes of one cache line for each row.
// It has no false negatives; a false positive costs a lookup that finds nothing. False positives by
// bits of budget per written row: 16: 0.1 %, 10: 1 %, 8: 3 %, 4: 33 %.
//
// Rows are never removed. Memory is taken on first touch.
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "common/status.h"
#include "ps/cache/page_memory.h"
#include "ps/store/row_store.h"

namespace rowhouse {

class WrittenRows {
 public:
  // A set of positions [0, rows), rows >= 1. A full set takes at most max(budget_bytes, 64) bytes,
  // rounded to 64.
  WrittenRows(uint64_t rows, uint64_t budget_bytes);
  ~WrittenRows();
  WrittenRows(WrittenRows&& other) noexcept;
  WrittenRows& operator=(WrittenRows&& other) noexcept;

  uint64_t rows() const { return rows_; }
  bool is_exact() const { return is_exact_; }

  // Requires position < rows().
  void Add(uint64_t position);
  // False: it was never added. True: it was added, or, unless is_exact(), may have been.
  bool MayContain(uint64_t position) const;
  // Prefetches the memory that MayContain of this position reads.
  void Prefetch(uint64_t position) const;

  // How many Adds named a position for which MayContain was false. If the set is exact, that is the
  // number of rows written; otherwise it is slightly less.
  uint64_t added() const { return added_; }
  size_t memory_bytes() const { return bytes_; }  // of a full set

  // The set as bytes, for the file. SetBytes requires bytes().size() bytes of a
  // set made with the same arguments.
  std::span<const std::byte> bytes() const { return {memory_.data(), bytes_}; }
  void SetBytes(std::span<const std::byte> bytes, uint64_t added);

 private:
  uint64_t rows_ = 0;
  size_t bytes_ = 0;
  bool is_exact_ = false;
  uint64_t added_ = 0;
  PageMemory memory_;
};

// ---- In a file ----------------------------------------------------------------------------------
//
// A shard's sets of written rows are kept beside its store, so that opening it again needs no scan.
// Little-endian:
//
//   magic "RHWROWS1", u64 XXH3-64 of the stamp, u64 sets; of each set: u32 table, u32 first column,
//   u64 first position, u64 rows, u64 added, u64 bytes; the bytes of all sets; u32 crc32c of all
//   before
//
// The file is a hint. The stamp is RowStore::stamp() when it was written; after another Put the
// file is stale. If it is missing, torn, stale or of other sets, the rows are scanned instead.
// Threads: one per path.

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
