// RowOrder: the order in which a plan divides a table's rows: as numbered, or scattered by a
// permutation, so that neighbouring rows (often the hottest) come to different shards. Positions
// are 0 .. rows - 1 without gaps. It takes no memory.
//
// Threads: const after construction; any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "common/scatter.h"
#include "common/types.h"

namespace rowhouse {

class RowOrder {
 public:
  // As numbered: position == row.
  RowOrder() = default;

  // Scattered by `key`. Requires rows in [1, 2^63].
  static RowOrder Scattered(uint64_t rows, uint64_t key) {
    RowOrder order;
    order.key_ = key;
    order.scatter_.emplace(rows, key);
    return order;
  }

  bool is_scattered() const { return scatter_.has_value(); }
  uint64_t key() const { return key_; }  // 0 unless scattered

  uint64_t PositionOf(RowId row) const { return scatter_ ? (*scatter_)(Raw(row)) : Raw(row); }
  RowId RowAt(uint64_t position) const {
    return RowId{scatter_ ? scatter_->Inverse(position) : position};
  }

 private:
  uint64_t key_ = 0;
  std::optional<Scatter> scatter_;
};

}  // namespace rowhouse
