// The timing rows of a walkthrough of DLRM's code (on one CPU, which it does not name): what the
// walkthrough says, and our training run that corresponds to it. Threads: read-only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rowhouse {

struct WalkthroughRow {
  std::string name;
  uint64_t samples = 0;  // of an epoch
  uint64_t batch = 0;
  uint64_t epochs = 1;
  bool is_larger_model = false;  // configs/dlrm_walkthrough.yaml; else DLRM's defaults
  double seconds = 0;            // there
  uint64_t divisor = 1;          // of the samples, unless the whole is asked for

  double samples_per_second() const;  // there
  uint64_t samples_here(bool is_long) const { return is_long ? samples : samples / divisor; }
  // Of `rowhouse train`.
  std::vector<std::string> Flags(bool is_long) const;
};

std::span<const WalkthroughRow> WalkthroughRows();

}  // namespace rowhouse
