// MessagePart: one of the messages in which the rows and bags of a pull or push are sent to a
// shard. PartDivider divides what each shard gets into parts of bounded size. Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sharding/plans/router.h"

namespace rowhouse {

// Some rows of one batch of an operation, and some of their columns. `batch`: number of the batch;
// [begin, end): places in its RoutedRows; the columns are [first_column, first_column + columns).
struct RowPiece {
  size_t batch = 0, begin = 0, end = 0;
  uint32_t first_column = 0, columns = 0;

  size_t rows() const { return end - begin; }
};

// Bags [begin, end) of one of the operation's RoutedBags.
struct BagPiece {
  size_t routed = 0;
  uint32_t begin = 0, end = 0;
};

struct MessagePart {
  size_t shard = 0;
  uint32_t number = 0, count = 1;  // part `number`, from 0, of the `count` parts to this shard
  std::vector<RowPiece> rows;
  std::vector<BagPiece> bags;
};

// A part exceeds these limits only if it has a single row or bag and that one exceeds them.
struct PartLimits {
  size_t rows = 20000;                  // and lookups of bags
  size_t bytes = 4 << 20;               // of ids and columns, in the larger of request and reply
  size_t number_bytes = sizeof(float);  // of a column of a row
};

class PartDivider {
 public:
  PartDivider(size_t shards, const PartLimits& limits) : limits_(limits), shards_(shards) {}

  // A piece of the rows of batch `batch`.
  void AddRows(size_t batch, const RoutedPiece& piece);
  // All bags of the operation's RoutedBags number `routed`. How they are divided depends on them
  // alone, so that a pull and the push after it name the same bag pieces.
  void AddBags(size_t routed, const RoutedBags& bags);

  // The parts by shard, numbered. `to_every_shard`: a shard without rows and bags gets an empty
  // one.
  std::vector<MessagePart> Take(bool to_every_shard);

 private:
  // The parts of one shard, the last of which is being filled.
  struct ShardParts {
    std::vector<MessagePart> parts;
    size_t rows = 0, bytes = 0;  // in the last part
  };

  bool HasRoom(const ShardParts& to, size_t rows, size_t bytes) const;
  static void OpenPart(size_t shard, ShardParts* to);

  const PartLimits limits_;
  std::vector<ShardParts> shards_;
};

}  // namespace rowhouse
