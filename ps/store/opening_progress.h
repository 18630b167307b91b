// OpeningProgress: how far a PS node is with opening its shards, and whether it shall go on.
//
// Threads: any. Shards of one node are opened side by side.
#pragma once

#include <atomic>
#include <cstdint>

#include "common/status.h"

namespace rowhouse {

class OpeningProgress {
 public:
  // So many bytes of rows have to be opened beside those expected so far.
  void Expect(uint64_t bytes) { bytes_total_ += bytes; }

  // Counts bytes that were opened, read or moved. Whoever opens calls this every few milliseconds,
  // and ends with the error: kUnavailable once Stop was called.
  Status Advance(uint64_t bytes) {
    bytes_done_ += bytes;
    if (!is_stopped_) return OkStatus();
    return MakeStatus(StatusCode::kUnavailable, "stopped while its rows were opened");
  }

  void Stop() { is_stopped_ = true; }

  uint64_t bytes_done() const { return bytes_done_; }
  uint64_t bytes_total() const { return bytes_total_; }

 private:
  std::atomic<uint64_t> bytes_done_ = 0;
  std::atomic<uint64_t> bytes_total_ = 0;
  std::atomic<bool> is_stopped_ = false;
};

}  // namespace rowhouse
