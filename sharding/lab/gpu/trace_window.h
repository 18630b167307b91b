// TraceWindow: which part of a trace is looked at: two whole iterations of training from its last
// tenth, when everything is warm, as the authors of gpu_model.h take it.
//
// Iterations are marked by events "ProfilerStep#n"; or by the first label "## name ##" that occurs
// twice; or by torch::autograd::GraphRoot; or by Optimizer.step: from one to the next. Of our own
// profile all steps, by the numbers that its layers have. Threads: pure functions.
#pragma once

#include <string>

#include "sharding/lab/gpu/trace_events.h"

namespace rowhouse {

struct TraceWindow {
  double begin_us = 0;
  double end_us = 0;  // an event belongs to it if it starts before
  uint64_t iterations = 1;
  std::string what;  // in words: "2 iterations from the last tenth"

  bool holds(const TraceEvent& event) const {
    return event.start_us >= begin_us && event.start_us < end_us;
  }
};

// Where the last tenth holds no two whole iterations: the last two of the trace, or the only one,
// or without any mark everything, as one.
TraceWindow WindowOf(const TraceEvents& trace);

}  // namespace rowhouse
