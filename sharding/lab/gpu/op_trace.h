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
#include "sharding/lab/gpu/trace_window.h"

namespace rowhouse {

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
