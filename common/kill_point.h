// Kill points: where a process ends as by kill -9 if ROWHOUSE_KILL_POINT says so, so that a test
// meets every state that a crash can leave on disk (tests/mpi/kill_points_test.cc).
//
//   ROWHOUSE_KILL_POINT=part.before_rename:2   the second time that this process comes there
//
// Each process counts for itself, all its threads together. Whoever adds a rename, write, fsync or
// deletion that leaves a state of its own adds a point. Without the variable one costs nothing that
// could be measured. Threads: any.
#pragma once

#include <span>
#include <string_view>

#include "common/status.h"

namespace rowhouse {

// `name`: one of KillPointNames(), which no other place in the sources has.
void KillPoint(std::string_view name);

std::span<const std::string_view> KillPointNames();

// kUsage if ROWHOUSE_KILL_POINT is set and names no point, or no time.
Status CheckKillPoint();

}  // namespace rowhouse
