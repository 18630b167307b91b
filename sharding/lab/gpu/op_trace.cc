#include "sharding/lab/gpu/op_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

namespace rowhouse {
namespace {

// ---- The window ---------------------------------------------------------------------------------

constexpr double kTail = 0.9;  // the last tenth begins here
constexpr size_t kIterations = 2;

// Starts of the events that mark iterations, ascending.
std::vector<double> StartsOf(const TraceEvents& trace, std::string_view prefix) {
  std::vector<double> starts;
  for (const TraceEvent& event : trace.events) {
    if (event.name.starts_with(prefix)) starts.push_back(event.start_us);
  }
  return starts;
}

std::vector<double> StartsOfLabel(const TraceEvents& trace) {
  for (const TraceEvent& event : trace.events) {
    if (!event.name.starts_with("## ") || event.name.find(':') != std::string::npos) continue;
    std::vector<double> starts = StartsOf(trace, event.name);
    if (starts.size() > 1) return starts;
  }
  return {};
}

std::vector<double> MarksOf(const TraceEvents& trace) {
  std::vector<double> marks = StartsOf(trace, "ProfilerStep");
  if (!marks.empty()) {
    // The last one ends with itself.
    for (const TraceEvent& event : trace.events) {
      if (event.name.starts_with("ProfilerStep") && event.start_us == marks.back()) {
        marks.push_back(event.end_us);
        break;
      }
    }
    return marks;
  }
  marks = StartsOfLabel(trace);
  if (marks.size() < 2) marks = StartsOf(trace, "torch::autograd::GraphRoot");
  if (marks.size() < 2) marks = StartsOf(trace, "Optimizer.step#");
  return marks;
}

TraceWindow WindowOfOwnProfile(const TraceEvents& trace) {
  std::set<double> steps;
  for (const TraceEvent& event : trace.events) {
    // What lies between steps has a number, too.
    if (!event.name.starts_with("mlp/")) continue;
    const auto step = event.numbers.find("step");
    if (step != event.numbers.end()) steps.insert(step->second);
  }
  TraceWindow window = {.begin_us = -std::numeric_limits<double>::infinity(),
                        .end_us = std::numeric_limits<double>::infinity()};
  window.iterations = std::max<size_t>(1, steps.size());
  window.what = fmt::format("all {} profiled steps", window.iterations);
  return window;
}

TraceWindow WindowOf(const TraceEvents& trace) {
  if (trace.is_own_profile) return WindowOfOwnProfile(trace);
  const std::vector<double> marks = MarksOf(trace);
  TraceWindow window = {.begin_us = trace.events.front().start_us,
                        .end_us = std::numeric_limits<double>::infinity(),
                        .iterations = 1,
                        .what = "all of it, as one iteration: nothing marks iterations"};
  if (marks.size() < 2) return window;
  const double last = trace.events.back().start_us;
  const double tail = window.begin_us + kTail * (last - window.begin_us);
  const auto first =
      static_cast<size_t>(std::upper_bound(marks.begin(), marks.end(), tail) - marks.begin());
  if (first + kIterations < marks.size()) {
    window = {marks[first], marks[first + kIterations], kIterations,
              "two iterations from the last tenth"};
  } else if (marks.size() > kIterations) {
    window = {marks[marks.size() - 1 - kIterations], marks.back(), kIterations,
              "the last two iterations (the last tenth of the trace holds no two whole ones)"};
  } else {
    window = {marks[0], marks[1], 1, "its only whole iteration"};
  }
  return window;
}

// ---- The sum ------------------------------------------------------------------------------------

// What only holds operators.
bool IsFrame(const TraceEvent& event) {
  if (event.name.starts_with("nccl:")) return false;  // a label in newer traces
  constexpr std::array<std::string_view, 5> kPrefixes = {
      "## ", "ProfilerStep", "Optimizer.", "nn.Module: ", "autograd::engine::evaluate_function: "};
  return event.category == "user_annotation" || event.category == "step" ||
         event.category == "group" ||
         std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return event.name.starts_with(prefix); });
}

class Walk {
 public:
  Walk(const TraceEvents* trace, const OpRuleOptions& options, const TraceWindow& window)
      : trace_(trace), options_(options), window_(window), rules_(trace, options) {}

  Status Visit(size_t index) {
    const TraceEvent& event = trace_->events[index];
    if (event.is_launch()) return OkStatus();
    if (IsFrame(event)) return VisitChildren(event);
    if (!window_.holds(event)) return OkStatus();
    ASSIGN_OR_RETURN(const std::optional<OpCost> cost, rules_.CostOf(event));
    if (cost) {
      auto& op = ops_[{event.name, cost->sizes}];
      op.name = event.name;
      op.cost = *cost;
      ++op.count;
      return OkStatus();
    }
    if (options_.form != GpuForm::kOriginal && HasRuleBelow(event)) return VisitChildren(event);
    ++no_rule_[event.name];
    return OkStatus();
  }

  OpTracePrediction Sum() const {
    OpTracePrediction sum = {.window = window_};
    for (const auto& [key, op] : ops_) {
      sum.ops.push_back(op);
      sum.us += op.us();
    }
    for (const auto& [name, count] : no_rule_) sum.no_rule.push_back({name, count});
    std::stable_sort(sum.ops.begin(), sum.ops.end(),
                     [](const auto& a, const auto& b) { return a.us() > b.us(); });
    std::stable_sort(sum.no_rule.begin(), sum.no_rule.end(),
                     [](const auto& a, const auto& b) { return a.count > b.count; });
    return sum;
  }

 private:
  Status VisitChildren(const TraceEvent& event) {
    for (const size_t child : event.children) RETURN_IF_ERROR(Visit(child));
    return OkStatus();
  }

  // An error is a rule too: it is reported when the operator is visited.
  bool HasRuleBelow(const TraceEvent& event) const {
    return std::any_of(event.children.begin(), event.children.end(), [&](size_t child) {
      const TraceEvent& below = trace_->events[child];
      if (below.is_launch()) return false;
      OpRules rules(trace_, options_);
      const auto cost = rules.CostOf(below);
      return !cost.ok() || cost.value().has_value() || HasRuleBelow(below);
    });
  }

  const TraceEvents* trace_;
  const OpRuleOptions options_;
  const TraceWindow window_;
  OpRules rules_;
  std::map<std::pair<std::string, std::string>, OpTracePrediction::Op> ops_;
  std::map<std::string, uint64_t> no_rule_;
};

// Our own profile holds the leaves of every process; those of the first one are a worker's.
std::vector<size_t> RootsOf(const TraceEvents& trace) {
  if (!trace.is_own_profile) return trace.roots;
  std::vector<size_t> roots;
  const TraceEvent* first = nullptr;
  for (size_t i = 0; i < trace.events.size(); ++i) {
    const TraceEvent& event = trace.events[i];
    if (event.category != "phase") continue;
    if (first == nullptr && event.name.starts_with("mlp/")) first = &event;
  }
  for (size_t i = 0; i < trace.events.size(); ++i) {
    const TraceEvent& event = trace.events[i];
    if (event.category != "phase") continue;
    if (first == nullptr || event.process == first->process) roots.push_back(i);
  }
  return roots;
}

}  // namespace

Result<OpTracePrediction> PredictOpTrace(const TraceEvents& trace, const OpRuleOptions& options) {
  Walk walk(&trace, options, WindowOf(trace));
  for (const size_t root : RootsOf(trace)) RETURN_IF_ERROR(walk.Visit(root));
  OpTracePrediction sum = walk.Sum();
  if (sum.ops.empty() && sum.no_rule.empty()) {
    return UsageError("{}: no operator lies in the window ({})", trace.file, sum.window.what);
  }
  return sum;
}

std::string OpTracePrediction::Warning() const {
  if (!ops.empty()) return "";
  return "no operator of the window has a rule: the sum of 0 says nothing; is it a profile of "
         "training, recorded with record_shapes=True?";
}

nlohmann::ordered_json OpTraceToJson(const OpTracePrediction& prediction) {
  nlohmann::ordered_json ops = nlohmann::ordered_json::array();
  for (const OpTracePrediction::Op& op : prediction.ops) {
    ops.push_back({{"name", op.name},
                   {"rule", op.cost.rule},
                   {"sizes", op.cost.sizes},
                   {"count", op.count},
                   {"us_each", op.cost.us},
                   {"us", op.us()}});
    if (op.cost.later_us > 0) ops.back()["us_each_of_later_model"] = op.cost.later_us;
  }
  nlohmann::ordered_json no_rule = nlohmann::ordered_json::array();
  for (const OpTracePrediction::Unknown& one : prediction.no_rule) {
    no_rule.push_back({{"name", one.name}, {"count", one.count}});
  }
  return {{"window", prediction.window.what},
          {"iterations", prediction.window.iterations},
          {"warning", prediction.Warning()},
          {"us", prediction.us},
          {"us_per_iteration", prediction.us_per_iteration()},
          {"ops", ops},
          {"without_rule", no_rule}};
}

}  // namespace rowhouse
