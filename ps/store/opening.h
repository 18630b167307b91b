// Opening rows: how far it is, and how long to wait for another process that has them open.
// Threads: any.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <thread>
#include <type_traits>

#include "common/status.h"

namespace rowhouse {

// OpeningProgress: how far a PS node is with opening its shards, and whether it shall go on.
// Shards of one node are opened side by side.
class OpeningProgress {
 public:
  // This many more bytes of rows have to be opened.
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

inline constexpr std::string_view kInUseByAnother = "is in use by another process";

// Calls `open` again until it says anything else than that another process has the rows open, for
// ten seconds at most: one that was killed, or whose run was, ends within moments. `open` must look
// at everything anew: what it read before the other process ended may not be so any more.
template <typename Open>
auto OnceNotInUse(const Open& open) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  for (;;) {
    auto opened = open();
    Status status;
    if constexpr (std::is_same_v<decltype(opened), Status>) {
      status = opened;
    } else {
      status = opened.status();
    }
    const bool is_in_use = status.code() == StatusCode::kUsage &&
                           status.message().find(kInUseByAnother) != std::string::npos;
    if (!is_in_use || std::chrono::steady_clock::now() >= end) return opened;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

}  // namespace rowhouse
