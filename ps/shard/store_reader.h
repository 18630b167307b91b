// StoreReader: reads rows from the store, and goes on where the caller stopped.
//
// Reads are carried out in order, after all writes that were queued before: a row that was evicted
// a moment ago is read as it was written, also if the write is held.
// Threads: the shard's thread only.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "ps/shard/shard_state.h"
#include "ps/shard/store_writer.h"

namespace rowhouse {

class StoreReader {
 public:
  // Given the reads, with records filled and missing rows named. Not called once the shard has
  // failed. What was found in caches before the read must be looked up again.
  using Continuation = std::function<void(std::vector<StoreRead>)>;

  StoreReader(ShardState& state, StoreWriter& writer) : state_(state), writer_(writer) {}

  // Returns the ticket of the read. Makes room for the records itself. A call without any reads is
  // a fence: `then` is called when all earlier reads have ended.
  uint64_t Read(std::vector<StoreRead> reads, Continuation then);
  void OnRowsRead(RowsRead event);

 private:
  ShardState& state_;
  StoreWriter& writer_;
  struct Waiting {
    Continuation then;
    // Rows whose writes were held when the read was asked for: reads[read].rows[row].
    struct Held {
      size_t read, row;
      std::vector<std::byte> record;
    };
    std::vector<Held> held;
  };
  std::map<uint64_t, Waiting> waiting_;  // by ticket
};

}  // namespace rowhouse
