// WrittenRows: the set of rows of a slice that were ever written to the store. Others are not
// looked up there: their initial value is computed.
//
// If a bit for each row fits the budget, the set is a bitmap and exact. Else it is a split-block
// Bloom filter of the budget's size (Putze, Sanders, Singler, "Cache-, hash- and space-efficient
// Bloom filters", 2007; as in Apache Parquet): 8 bits in 32 bytes of one cache line for each row.
// It has no false negatives; a false positive costs a lookup that finds nothing. False positives by
// bits of budget per written row: 16: 0.1 %, 10: 1 %, 8: 3 %, 4: 33 %.
//
// The bytes of one set can be added to another of the same rows, of any size (AddBytes): a set that
// was saved serves a run with another budget.
//
// Rows are never removed. Memory is taken on first touch.
// Threads: one at a time; but shape() and CopyBytes() may be called on any thread meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ps/cache/page_memory.h"

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
  uint64_t added() const;
  size_t memory_bytes() const { return bytes_; }  // of a full set

  // What the bytes of a set mean.
  struct Shape {
    uint64_t rows = 0;
    uint64_t bytes = 0;  // memory_bytes()
    uint64_t added = 0;
    bool is_exact = false;
  };
  Shape shape() const {
    return {.rows = rows_, .bytes = bytes_, .added = added(), .is_exact = is_exact_};
  }
  // Whether a set can have this shape.
  static bool IsPossible(const Shape& shape);

  // Copies bytes from `offset` on, a multiple of 4, as `out` is. Of Adds that run meanwhile, on the
  // set's thread, some are in it.
  void CopyBytes(uint64_t offset, std::span<std::byte> out) const;

  // An empty set for the bytes of a set of shape `other`, in no more memory than this one. It is
  // exact if both are. A filter stays as large as it was, or becomes a multiple of that: its rate
  // of false positives stays. Where it must become smaller, that rises as if the filter had been
  // halved, at least, since blocks of the new one overlap two or more of the old one.
  // Requires IsPossible(other), and the same rows.
  WrittenRows EmptyFor(const Shape& other) const;
  // Adds bytes [offset, offset + bytes.size()) of a set of shape `other`; both are multiples of 32.
  // Requires a set made by EmptyFor(other).
  void AddBytes(const Shape& other, uint64_t offset, std::span<const std::byte> bytes);

 private:
  WrittenRows(uint64_t rows, size_t bytes, bool is_exact, uint64_t added);
  // Sets the bits of a position; false if they were set.
  bool Set(uint64_t position);
  void AddPositions(uint64_t first, std::span<const std::byte> bits);
  void AddBlocks(uint64_t blocks, uint64_t first, std::span<const std::byte> bytes);

  uint64_t rows_ = 0;
  size_t bytes_ = 0;
  bool is_exact_ = false;
  uint64_t added_ = 0;
  PageMemory memory_;
};

}  // namespace rowhouse
