// BoundToCore: keeps a thread on one core. Where the kernel puts threads that wake each other
// changes from run to run, and an exchange takes up to ten times as long as in another run.
//
// Threads: those that the caller starts while it is bound are bound to the same core.
#pragma once

#include <sched.h>

#include <vector>

namespace rowhouse {

// The cores that this thread may run on, ascending.
std::vector<int> AllowedCores();

// Binds the calling thread to a core until destruction, which gives it back the cores it had. Where
// the system refuses, nothing is bound. Destroyed by the thread that made it.
class BoundToCore {
 public:
  explicit BoundToCore(int core);
  ~BoundToCore();
  BoundToCore(const BoundToCore&) = delete;
  BoundToCore& operator=(const BoundToCore&) = delete;

 private:
  cpu_set_t before_;
  bool is_bound_ = false;
};

}  // namespace rowhouse
