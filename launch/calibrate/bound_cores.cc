#include "launch/calibrate/bound_cores.h"

namespace rowhouse {

std::vector<int> AllowedCores() {
  std::vector<int> cores;
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &mask)) cores.push_back(core);
  }
  return cores;
}

BoundToCore::BoundToCore(int core) {
  if (sched_getaffinity(0, sizeof(before_), &before_) != 0) return;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(core, &mask);
  is_bound_ = sched_setaffinity(0, sizeof(mask), &mask) == 0;
}

BoundToCore::~BoundToCore() {
  if (is_bound_) sched_setaffinity(0, sizeof(before_), &before_);
}

}  // namespace rowhouse
