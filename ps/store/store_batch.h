// Reads and writes of one slice's rows: values that go from a shard to its I/O thread and back.
#pragma once

#include <cstddef>
#include <vector>

#include "common/types.h"
#include "ps/store/row_store.h"

namespace rowhouse {

struct StoreRead {
  StoreSlice slice;
  std::vector<RowId> rows;
  std::vector<std::byte> records;  // rows x slice.record_bytes, filled by the store
  std::vector<size_t> missing;     // indices of rows that are not stored, ascending
};

struct StoreWrite {
  StoreSlice slice;
  std::vector<RowId> rows;         // unique
  std::vector<std::byte> records;  // rows x slice.record_bytes
};

}  // namespace rowhouse
