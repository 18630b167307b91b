#include "launch/model/room_on_disk.h"

#include <fmt/core.h>
#include <glog/logging.h>

#include <chrono>
#include <thread>

namespace rowhouse {

Status UntilThereIsRoom(const RoomOptions& options, const Clock& clock,
                        const std::function<Status()>& write) {
  const TimeMs begun = clock.NowMs();
  constexpr TimeMs kTellAgainMs = 30000;
  TimeMs told_at = 0;
  for (bool has_waited = false;; has_waited = true) {
    Status status = write();
    const TimeMs waited = clock.NowMs() - begun;
    if (status.code() != StatusCode::kResourceExhausted) {
      LOG_IF(WARNING, has_waited && status.ok())
          << options.what << ": there is room again after " << waited << " ms; the run goes on";
      return status;
    }
    if (waited >= options.deadline_ms) {
      return status.Annotate(fmt::format("{}: the disk was full for {} ms", options.what, waited));
    }
    if (!has_waited || waited - told_at >= kTellAgainMs) {
      told_at = waited;
      LOG(WARNING) << options.what << ": the disk is full (" << status.message()
                   << "); the run waits until there is room, "
                   << (waited < 1000 ? "" : fmt::format("{} s so far and ", waited / 1000))
                   << options.deadline_ms / 1000 << " s at most";
    }
    options.pause ? options.pause() : std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
}

}  // namespace rowhouse
