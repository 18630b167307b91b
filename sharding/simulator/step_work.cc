#include "sharding/simulator/step_work.h"

namespace rowhouse {

void DealRanks(uint32_t hosts, StepWork* work) {
  work->hosts = hosts;
  work->host_of_ps.clear();
  work->host_of_worker.clear();
  uint32_t rank = 0;
  for (size_t p = 0; p < work->ps.size(); ++p) work->host_of_ps.push_back(rank++ % hosts);
  for (uint32_t w = 0; w < work->workers; ++w) work->host_of_worker.push_back(rank++ % hosts);
}

}  // namespace rowhouse
