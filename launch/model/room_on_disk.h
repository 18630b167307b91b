// Where the disk is full, the save at the end of a run waits for room, so that no trained model is
// lost. Threads: the caller's.
#pragma once

#include <functional>
#include <string>

#include "common/clock.h"
#include "common/status.h"

namespace rowhouse {

struct RoomOptions {
  std::string what;                       // what is written: "the model in DIR"
  TimeMs deadline_ms = 0;                 // how long to wait for room
  std::function<void()> pause = nullptr;  // between two tries; null: half a second
};

// Calls `write` again and again while it returns kResourceExhausted and the deadline has not
// passed. Returns what the last call returned. Logs when it begins to wait, every half minute, and
// when there is room again.
Status UntilThereIsRoom(const RoomOptions& options, const Clock& clock,
                        const std::function<Status()>& write);

}  // namespace rowhouse
