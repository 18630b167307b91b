// UntilThereIsRoom: writing a model where the disk is full waits for somebody to make room, as
// shards do with rows (ps/node/io_thread.h): what a run trained must not be lost for want of it.
#pragma once

#include <functional>
#include <string>

#include "common/clock.h"
#include "common/status.h"

namespace rowhouse {

struct RoomOptions {
  std::string what;                       // is written, for the messages: "the model in DIR"
  TimeMs deadline_ms = 0;                 // after which it is given up
  std::function<void()> pause = nullptr;  // between two tries; null: half a second
};

// Calls `write`, which may be called again after it found no room (kResourceExhausted), until it
// comes to something else or the deadline has passed, and returns what the last call did. Logs when
// it begins to wait, every half minute, and when there was room.
Status UntilThereIsRoom(const RoomOptions& options, const Clock& clock,
                        const std::function<Status()>& write);

}  // namespace rowhouse
