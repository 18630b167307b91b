// PredictOpTrace: the time of a training iteration on a graphics processor, as the sum over the
// operators of a trace (the authors of gpu_model.h; end to end). Operators without a rule count 0
// and are listed: the sum is of what the models know, not of all that runs.
//
// Threads: pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sharding/lab/gpu/op_rules.h"

namespace rowhouse {

// Which part of a trace is looked at. As the authors of gpu_model.h take it: two whole iterations
// of training from its last tenth, when everything is warm. If that does not hold two, the last two
// iterations of the trace, or the only one. Without any mark, all of the trace, as one iteration.
//
// Iterations are marked by events "ProfilerStep#n"; or by the first label "## name ##" that occurs
// twice; or by torch::autograd::GraphRoot; or by Optimizer.step: from one to the next. In our own
// profile all steps are taken, by the numbers that its layers have.
struct TraceWindow {
  double begin_us = 0;
  double end_us = 0;  // an event belongs to it if it starts before
  uint64_t iterations = 1;
  std::string what;  // in words: "2 iterations from the last tenth"

  bool holds(const TraceEvent& event) const {
    return event.start_us >= begin_us && event.start_us < end_us;
  }
};

struct OpTracePrediction {
  struct Op {  // operators of one name and of the same sizes
    std::string name;
    OpCost cost;  // of one
    uint64_t count = 0;
    double us() const { return cost.us * static_cast<double>(count); }
  };
  struct Unknown {
    std::string name;
    uint64_t count = 0;
  };
  TraceWindow window;
  std::vector<Op> ops;           // by falling time in all
  std::vector<Unknown> no_rule;  // by falling count
  double us = 0;                 // of the window

  // That the models know nothing of it; "" if they do.
  std::string Warning() const;
  double us_per_iteration() const { return us / static_cast<double>(window.iterations); }
};

// The outermost operators are predicted; labels, steps and autograd's frames are looked into, and,
// but in the original form, so are operators without a rule that hold one with a rule (linear holds
// addmm). kUsage, naming file and event, as OpRules.
Result<OpTracePrediction> PredictOpTrace(const TraceEvents& trace, const OpRuleOptions& options);

nlohmann::ordered_json OpTraceToJson(const OpTracePrediction& prediction);

}  // namespace rowhouse
