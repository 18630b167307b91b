// ConversionLine: what a conversion prints while it runs: one line that is rewritten on a terminal,
// or a line every ten seconds where stdout is not a terminal.
//
// Threads: one at a time.
#pragma once

#include <chrono>

#include "worker/data/convert/converter.h"

namespace rowhouse {

class ConversionLine {
 public:
  explicit ConversionLine(bool is_terminal) : is_terminal_(is_terminal) {}

  // Call it about once a second. Prints
  //   "[========>           ] 43 %  pass 2 of 2  12,345,678 samples  210 MB/s  0:13 left"
  // The rate is of bytes as they lie on disk, since the last line.
  void Show(const ConversionProgress& progress);

  // Removes the line that is rewritten. Call it before anything else is printed.
  void Clear() const;

  // The part that is done, from 0 to 1: each pass counts the same.
  static double PartDone(const ConversionProgress& progress);

 private:
  using Clock = std::chrono::steady_clock;

  const bool is_terminal_;
  const Clock::time_point began_ = Clock::now();
  double first_part_ = -1.0;  // that was done when the first line was due; -1: none was due yet
  Clock::time_point first_ = began_;
  Clock::time_point last_ = began_;
  ConversionProgress shown_ = {.pass = 0};
};

}  // namespace rowhouse
