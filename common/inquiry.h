// Inquiry: an operator asks a process what it waits for, by signal SIGURG, which a process that
// does not hear it ignores. Whoever waits looks at its Inquiry at least once a second and logs the
// answer.
//
// Threads: HearInquiries and OfThisThread any; an Inquiry one.
#pragma once

#include <cstdint>

namespace rowhouse {

// From then on this process is asked by SIGURG. System calls that it interrupts go on.
void HearInquiries();

class Inquiry {
 public:
  Inquiry();
  // One a thread: whoever waits first on it answers.
  static Inquiry& OfThisThread();
  // Whether somebody has asked since the last call, or since this was made.
  bool IsAsked();

 private:
  uint64_t answered_ = 0;
};

}  // namespace rowhouse
