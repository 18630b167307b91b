// The calendar's time, for people and files. Durations are a Clock's (common/clock.h).
//
// Threads: any.
#pragma once

#include <string>

namespace rowhouse {

// "2025-01-31T12:00:00Z".
std::string NowInUtc();

}  // namespace rowhouse
