// SaveEvery: when a run saves its model in mid-run: every 500 steps, 10min, or 2GB of changed rows.
//
// Threads: plain data; pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "common/value.h"

namespace rowhouse {

// One of them is not 0, or none.
struct SaveEvery {
  uint64_t steps = 0;
  uint64_t seconds = 0;
  uint64_t megabytes = 0;  // MiB of rows that have changed since the save before, over all shards

  bool is_on() const { return steps > 0 || seconds > 0 || megabytes > 0; }
  std::string text() const;  // as it is given
  bool operator==(const SaveEvery&) const = default;
};

Value<SaveEvery> SaveEveryValue();

}  // namespace rowhouse
