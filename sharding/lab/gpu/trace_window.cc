#include "sharding/lab/gpu/trace_window.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>
#include <vector>

namespace rowhouse {
namespace {

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

}  // namespace

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

}  // namespace rowhouse
