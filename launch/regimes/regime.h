// MeasureRegimes: the regime experiment (`rowhouse bench regime`).
//
// Threads: one; products use the OpenMP threads that the process was given.
#pragma once

#include "common/status.h"
#include "launch/regimes/regime_evidence.h"

namespace rowhouse {

inline constexpr uint64_t kMinTableBytes = uint64_t{256} << 20;  // caches hold less than that
inline constexpr uint64_t kOriginalTableBytes = uint64_t{2'000'000} * 256 * sizeof(float);

struct RegimeOptions {
  uint64_t memory_bytes = 0;      // for tables; 0: a third of what the host has free
  int rounds = 5;                 // of all steps that are compared, interleaved
  double seconds_a_point = 0.05;  // of each round
  bool uses_shard = true;         // runs both models through a PS node, too
};

// kUsage if the tables that were asked for do not fit what the host has free. kUnavailable, with
// the reason, if there is too little memory for the experiment.
Result<RegimeEvidence> MeasureRegimes(const RegimeOptions& options);

}  // namespace rowhouse
