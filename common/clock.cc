#include "common/clock.h"

#include <chrono>

namespace rowhouse {

TimeNs SystemClock::NowNs() const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace rowhouse
