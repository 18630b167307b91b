#include "sharding/lab/gpu/op_trace.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace rowhouse {
namespace {

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
