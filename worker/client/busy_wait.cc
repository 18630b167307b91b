#include "worker/client/busy_wait.h"

#include <fmt/format.h>
#include <glog/logging.h>

namespace rowhouse {

Status BusyWait::OnTick(TimeMs now, bool is_silent) {
  constexpr TimeMs kLogAgainMs = 30000;
  if (!since_) since_ = now;
  const TimeMs waited = now - *since_;
  if (waited >= limit_ms_) {
    return MakeStatus(StatusCode::kResourceExhausted,
                      "worker {}: no room for {} ms (--save_deadline_ms): {}", Raw(worker_), waited,
                      message_);
  }
  if (is_silent || (logged_at_ && now - *logged_at_ < kLogAgainMs)) return OkStatus();
  logged_at_ = now;
  LOG(WARNING) << "worker " << Raw(worker_) << ": " << message_ << "; the run waits for room, "
               << (waited < 1000 ? std::string() : fmt::format("{} s so far and ", waited / 1000))
               << limit_ms_ / 1000 << " s at most";
  return OkStatus();
}

}  // namespace rowhouse
