#include "launch/hosts/cpu_mask.h"

#include <glog/logging.h>
#include <sched.h>
#include <unistd.h>

namespace rowhouse {

void WidenCpuMask(uint32_t threads) {
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0) return;
  const auto allowed = static_cast<uint32_t>(CPU_COUNT(&mask));
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  if (allowed >= threads || allowed >= online) return;
  cpu_set_t all;
  CPU_ZERO(&all);
  for (long cpu = 0; cpu < online; ++cpu) CPU_SET(static_cast<size_t>(cpu), &all);
  // Fails if a cpuset forbids more cores; then the mask stays.
  if (sched_setaffinity(0, sizeof(all), &all) != 0) return;
  LOG(INFO) << "bound to " << allowed << " of " << online << " cores with " << threads
            << " threads: using all cores";
}

}  // namespace rowhouse
