#include "common/clock.h"

#include <chrono>

namespace rowhouse {

TimeMs SystemClock::NowMs() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace rowhouse
