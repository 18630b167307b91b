// WrittenRows: which rows of a slice were ever written to its store, so that a row that never was
// is not looked up there: its first value is known without.
//
// Where a bit a row fits the budget, a bit a row: exact. Else a split-block Bloom filter (Putze,
// Sanders, Singler, "Cache-, hash- and space-efficient Bloom filters", 2007; the form of Apache
// Parquet): 8 bits in 32 bytes of one cache line for each row, as large as the budget. It has no
// false negatives; a false positive costs a lookup that finds nothing. Of rows never written it
// lets through, by bits of budget per row written: 16: 0.1 %, 10: 1 %, 8: 3 %, 4: 33 %.
//
// Rows are never taken out: what is written stays written. Memory is mapped on first touch.
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ps/cache/page_memory.h"

namespace rowhouse {

class WrittenRows {
 public:
  // Of positions [0, rows), rows >= 1. The bytes a full set takes are at most
  // max(budget_bytes, 64), rounded to 64.
  WrittenRows(uint64_t rows, uint64_t budget_bytes);
  ~WrittenRows();
  WrittenRows(WrittenRows&& other) noexcept;
  WrittenRows& operator=(WrittenRows&& other) noexcept;

  uint64_t rows() const { return rows_; }
  bool is_exact() const { return is_exact_; }

  // Requires position < rows().
  void Add(uint64_t position);
  // False: was never added. True: was, or, unless is_exact(), may have been.
  bool MayContain(uint64_t position) const;
  // Asks for the memory that MayContain of this position will read, some rows ahead.
  void Prefetch(uint64_t position) const;

  // Positions for which Add was called and MayContain was false before: the rows written where
  // exact, a little fewer otherwise.
  uint64_t added() const { return added_; }
  size_t memory_bytes() const { return bytes_; }  // of a full set

  // The set as bytes, to be kept (ps/store/written_rows_file.h) and given back to a set made with
  // the same arguments. SetBytes requires bytes().size() bytes.
  std::span<const std::byte> bytes() const { return {memory_.data(), bytes_}; }
  void SetBytes(std::span<const std::byte> bytes, uint64_t added);

 private:
  uint64_t rows_ = 0;
  size_t bytes_ = 0;
  bool is_exact_ = false;
  uint64_t added_ = 0;
  PageMemory memory_;
};

}  // namespace rowhouse
