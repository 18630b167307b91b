// Stopwatch: the time since it was made or restarted, by the steady clock. Threads: one.
#pragma once

#include <chrono>

namespace rowhouse {

class Stopwatch {
 public:
  void Restart() { begin_ = std::chrono::steady_clock::now(); }
  double Ns() const {
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin_)
        .count();
  }
  double Seconds() const { return Ns() * 1e-9; }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace rowhouse
