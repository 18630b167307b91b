// UntilThereIsRoom: where the disk is full, writing a model waits until somebody makes room, as
// shards do with rows (ps/node/io_thread.h), so that a full disk does not lose a trained model.
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
