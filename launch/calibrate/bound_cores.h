// Threads that are measured each on a core of its own: where the kernel puts threads that wake each
// other changes from run to run, and with it what an exchange takes, by up to a factor of ten.
//
// Threads: those that the caller starts while it is bound are bound alike.
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
