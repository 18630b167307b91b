// Waits: what a worker or a shard waits for, as it says when it is asked (inquiry.h), and as text
// that another process reads. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/clock.h"

namespace rowhouse {

// Peer of one that waits in a call of all workers: those that have not said the same `what`.
inline constexpr char kOtherWorkers[] = "other workers";

struct Wait {
  std::string peer;  // "worker 2", "shard 4", kOtherWorkers
  std::string what;  // "push of step 3012"
  TimeMs ms = 0;     // 0: not known
  bool operator==(const Wait&) const = default;
};

struct Waits {
  std::string who;  // its first two words are its name: "shard 4 (PS node 2, pid 4711 on a3)"
  std::vector<Wait> waits;
  std::string note;       // what it does, if it waits for no peer; may be ""
  uint64_t left_out = 0;  // further waits, which ToText had no room for
  bool operator==(const Waits&) const = default;
};

// Lines that another process reads: about 3,500 bytes at most, so the last waits may be left out.
std::string ToText(const Waits& waits);
// The reverse. What does not fit is left out.
Waits WaitsFromText(const std::string& text);

}  // namespace rowhouse
