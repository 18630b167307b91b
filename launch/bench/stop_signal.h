// StopSignal: lets a bench with gigabytes in a temporary directory end in order on Ctrl-C or
// SIGTERM. While one exists the signals only set a flag, which loops read by Check().
//
// Threads: one at a time in a process; Check from any.
#pragma once

#include <signal.h>

#include "common/status.h"

namespace rowhouse {

class StopSignal {
 public:
  StopSignal();
  ~StopSignal();  // restores the handlers
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  // kInternal once a signal has come.
  static Status Check();

 private:
  struct sigaction before_int_ = {}, before_term_ = {};
};

}  // namespace rowhouse
