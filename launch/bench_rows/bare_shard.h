// BareShard: the yardstick of a shard: one thread that receives the messages of a worker, gathers
// rows from an array, or subtracts gradients from them at once (SGD), and sends the answers of a
// real shard. It checks nothing, and keeps no step, cache or trailer.
//
// Messages, their frames and bytes, transport, key and rows are those of OneShard. All frames are
// loans of arrays that were made before; pulled rows are dropped where they arrived, or copied from
// there to an array of the step's rows, as the worker of OneShard has one.
// Threads: one caller; the shard's is inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "common/frame.h"
#include "common/kernels/target_clones.h"
#include "common/status.h"
#include "common/transport/transport.h"
#include "launch/bench/one_shard.h"
#include "ps/cache/page_memory.h"

namespace rowhouse {

// Asks the CPU for all lines of a row. Always inlined. Its caller must do something else besides:
// gcc takes a function that only prefetches for one without effect, and drops calls of it.
ROWHOUSE_KERNEL_BODY void FetchRow(const void* row, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 64) {
    __builtin_prefetch(static_cast<const std::byte*>(row) + at, /*rw=*/1);
  }
}

class BareShard {
 public:
  // Of `options`, table, rows, steps, window and address count.
  static Result<std::unique_ptr<BareShard>> Start(const OneShardOptions& options);
  ~BareShard();
  BareShard(const BareShard&) = delete;
  BareShard& operator=(const BareShard&) = delete;

  // Pulls the rows of the next step, or pushes gradients for those.
  Status Pull(bool copies_rows = false) { return Run(/*is_pull=*/true, copies_rows); }
  Status Push() { return Run(/*is_pull=*/false, /*copies_rows=*/false); }

  // Bytes of all frames that were sent and received.
  uint64_t moved_bytes() const { return moved_bytes_; }
  // Of a row. Only between calls.
  const float* row(RowId row) const;

 private:
  explicit BareShard(const OneShardOptions& options);
  Status Run(bool is_pull, bool copies_rows);
  Frames RequestOf(const RowBatch& batch, size_t request, bool is_pull) const;
  void Serve(const std::stop_token& stop, Listener& listener);
  Frames Answer(const Frames& request);
  float* At(RowId row) const;

  const OneShardOptions options_;
  // Before the transports: ZeroMQ may hold their bytes until its contexts end.
  const PageMemory rows_;
  std::vector<RowBatch> steps_;
  std::vector<std::vector<float>> answers_;  // used in turn, one for each message in flight
  size_t next_step_ = 0, next_answer_ = 0;
  uint64_t moved_bytes_ = 0;
  std::unique_ptr<Transport> asking_, answering_;
  std::unique_ptr<Dialer> dialer_;
  std::jthread thread_;
};

}  // namespace rowhouse
