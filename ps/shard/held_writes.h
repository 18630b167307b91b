// HeldWrites: writes of rows that wait in memory until the store has been cut for a save
// (ps/store/part_maker.h), and that reads must see.
//
// Threads: the shard's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ps/store/row_store.h"

namespace rowhouse {

class HeldWrites {
 public:
  // Of a row that is added twice, the later record counts.
  void Add(std::vector<StoreWrite> writes);
  bool empty() const { return groups_.empty(); }
  // The record of the row as it was last added; null: it was not. Valid until the next call of Add
  // or Take.
  const std::byte* Find(const StoreSlice& slice, RowId row) const;
  // What was added, in order.
  std::vector<std::vector<StoreWrite>> Take();

 private:
  using SliceKey = std::pair<TableId, uint16_t>;  // table, first column
  std::vector<std::vector<StoreWrite>> groups_;
  std::map<SliceKey, std::unordered_map<RowId, const std::byte*>> newest_;
};

}  // namespace rowhouse
