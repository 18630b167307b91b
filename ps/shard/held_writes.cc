#include "ps/shard/held_writes.h"

namespace rowhouse {

// Records stay where they are when a vector of them is moved.
void HeldWrites::Add(std::vector<StoreWrite> writes) {
  for (const StoreWrite& write : writes) {
    auto& newest = newest_[{write.slice.table, write.slice.first_column}];
    const std::byte* record = write.records.data();
    for (const RowId row : write.rows) {
      newest[row] = record;
      record += write.slice.record_bytes;
    }
  }
  groups_.push_back(std::move(writes));
}

const std::byte* HeldWrites::Find(const StoreSlice& slice, RowId row) const {
  const auto of_slice = newest_.find({slice.table, slice.first_column});
  if (of_slice == newest_.end()) return nullptr;
  const auto found = of_slice->second.find(row);
  return found == of_slice->second.end() ? nullptr : found->second;
}

std::vector<std::vector<StoreWrite>> HeldWrites::Take() {
  newest_.clear();
  return std::exchange(groups_, {});
}

}  // namespace rowhouse
