// Rows that another process has open: how a store says so, and how long to wait for it.
//
// Threads: any.
#pragma once

#include <chrono>
#include <string_view>
#include <thread>

#include "common/status.h"

namespace rowhouse {

inline constexpr std::string_view kInUseByAnother = "is in use by another process";

inline const Status& StatusOf(const Status& status) { return status; }
template <typename T>
Status StatusOf(const Result<T>& result) {
  return result.status();
}

// Calls `open` again until it says anything else than that another process has the rows open, for
// ten seconds at most: one that was killed, or whose run was, ends within moments. `open` must look
// at everything anew: what it read before the other process ended may not be so any more.
template <typename Open>
auto OnceNotInUse(const Open& open) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  for (;;) {
    auto opened = open();
    const Status status = StatusOf(opened);
    const bool is_in_use = status.code() == StatusCode::kUsage &&
                           status.message().find(kInUseByAnother) != std::string::npos;
    if (!is_in_use || std::chrono::steady_clock::now() >= end) return opened;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

}  // namespace rowhouse
