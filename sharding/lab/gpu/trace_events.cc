#include "sharding/lab/gpu/trace_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/json_text.h"

namespace rowhouse {
namespace {

using Json = nlohmann::json;

// "line:column", from 1, of a byte.
std::string PlaceOf(std::string_view text, size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  return fmt::format("{}:{}", 1 + std::count(before.begin(), before.end(), '\n'),
                     before.size() - line_begin + 1);
}

Result<Json> ParseTrace(std::string_view text, const std::string& file) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return UsageError("{}: empty; expected a profile of PyTorch or of a rowhouse run", file);
  }
  bool is_too_deep = false;
  const auto keep = [&](int depth, Json::parse_event_t, Json&) {
    is_too_deep |= depth > kMaxJsonDepth;
    return !is_too_deep;
  };
  try {
    Json json = Json::parse(text, keep);
    if (is_too_deep) return UsageError("{}: lists nested deeper than {}", file, kMaxJsonDepth);
    return json;
  } catch (const Json::parse_error& error) {
    // `byte` is the one that was read last, from 1.
    const bool is_cut = error.byte > text.size();
    return UsageError("{}:{}: no JSON{}", file, PlaceOf(text, error.byte > 0 ? error.byte - 1 : 0),
                      is_cut ? ": the file ends here, in the middle; it was cut short" : "");
  }
}

// A member of an object by any of its names; null if there is none.
const Json* Member(const Json& object, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto found = object.find(name);
    if (found != object.end()) return &*found;
  }
  return nullptr;
}

// nullopt unless it is a list whose lists hold whole numbers; other elements are inputs without
// dimensions.
std::optional<std::vector<std::vector<int64_t>>> ShapesOf(const Json& dims) {
  if (!dims.is_array()) return std::nullopt;
  std::vector<std::vector<int64_t>> shapes;
  for (const Json& one : dims) {
    std::vector<int64_t> shape;
    if (one.is_array()) {
      for (const Json& size : one) {
        // A list of tensors has lists here.
        if (size.is_number_integer()) shape.push_back(size.get<int64_t>());
      }
    }
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

void ReadArgs(const Json& args, TraceEvent* event) {
  if (!args.is_object()) return;
  if (const Json* dims = Member(args, {"Input Dims", "Input dims"}))
    event->shapes = ShapesOf(*dims);
  const Json* correlation = Member(args, {"correlation"});
  if (correlation != nullptr && correlation->is_number_integer()) {
    event->correlation = correlation->get<int64_t>();
  }
  for (const auto& [name, value] : args.items()) {
    if (value.is_number()) event->numbers[name] = value.get<double>();
  }
}

TraceKernel KernelOf(const Json& json, std::string name) {
  TraceKernel kernel = {.name = std::move(name)};
  const auto args = json.find("args");
  if (args == json.end() || !args->is_object()) return kernel;
  const auto block = args->find("block");
  if (block != args->end() && block->is_array() && block->size() > 1 &&
      (*block)[1].is_number_unsigned()) {
    kernel.rows_per_block = (*block)[1].get<uint32_t>();
  }
  return kernel;
}

// Members of an event that this reads: {"ph": "X", "name", "cat", "ts", "dur", "tid", "args"}.
struct Reader {
  TraceEvents* trace;
  std::vector<std::pair<std::string, size_t>> threads = {};  // "pid/tid", number of the event

  Status Read(const Json& json, size_t number) {
    if (!json.is_object()) {
      return UsageError("{}: event {} is no object", trace->file, number);
    }
    // Without a duration (metadata, arrows, counters) it is no operator.
    const Json* phase = Member(json, {"ph"});
    if (phase != nullptr && *phase != "X") return OkStatus();
    const Json* duration = Member(json, {"dur"});
    if (duration == nullptr) return OkStatus();
    const Json* name = Member(json, {"name"});
    const Json* start = Member(json, {"ts"});
    if (name == nullptr || !name->is_string() || start == nullptr || !start->is_number() ||
        !duration->is_number()) {
      return UsageError("{}: event {}: expected a name, ts and dur in microseconds", trace->file,
                        number);
    }
    TraceEvent event = {.number = number, .name = name->get<std::string>()};
    const Json* category = Member(json, {"cat"});
    if (category != nullptr && category->is_string()) event.category = category->get<std::string>();
    event.start_us = start->get<double>();
    event.end_us = event.start_us + duration->get<double>();
    if (const Json* args = Member(json, {"args"})) ReadArgs(*args, &event);
    if (event.category == "Kernel" || event.category == "kernel") {
      if (event.correlation) trace->kernels[*event.correlation] = KernelOf(json, event.name);
      return OkStatus();
    }
    if (!event.is_operator() && !event.is_launch()) return OkStatus();
    const Json* pid = Member(json, {"pid"});
    const Json* tid = Member(json, {"tid"});
    if (pid != nullptr) event.process = DumpJson(*pid);
    threads.emplace_back(event.process + "/" + (tid != nullptr ? DumpJson(*tid) : ""),
                         trace->events.size());
    trace->events.push_back(std::move(event));
    return OkStatus();
  }
};

// Whether `outer` holds `inner`, which does not start before it. Some profilers round to whole
// microseconds, so that an operator may seem to end one after its holder.
bool Holds(const TraceEvent& outer, const TraceEvent& inner) {
  if (inner.end_us <= outer.end_us) return true;
  const auto is_whole = [](double us) { return us == std::floor(us); };
  return inner.start_us < outer.end_us && inner.end_us <= outer.end_us + 1 &&
         is_whole(inner.start_us) && is_whole(inner.end_us) && is_whole(outer.end_us);
}

// Operators within operators: who visits them does so recursively.
constexpr size_t kMaxNested = 512;

// Sorts by start, longer ones first, and puts each event below the innermost one that holds it.
Status Nest(TraceEvents* trace, std::vector<std::pair<std::string, size_t>> threads) {
  std::vector<TraceEvent> unsorted = std::move(trace->events);
  std::stable_sort(threads.begin(), threads.end(), [&](const auto& a, const auto& b) {
    const TraceEvent &x = unsorted[a.second], &y = unsorted[b.second];
    return std::pair(x.start_us, -x.end_us) < std::pair(y.start_us, -y.end_us);
  });
  trace->events.clear();
  std::map<std::string, std::vector<size_t>> open;  // of each thread, outermost first
  for (const auto& [thread, index] : threads) {
    const size_t place = trace->events.size();
    trace->events.push_back(std::move(unsorted[index]));
    std::vector<size_t>& stack = open[thread];
    while (!stack.empty() && !Holds(trace->events[stack.back()], trace->events[place])) {
      stack.pop_back();
    }
    if (stack.size() == kMaxNested) {
      return UsageError("{}: {} is nested in more than {} others", trace->file,
                        trace->events[place].Describe(), kMaxNested);
    }
    if (stack.empty()) {
      trace->roots.push_back(place);
    } else {
      trace->events[stack.back()].children.push_back(place);
    }
    stack.push_back(place);
  }
  return OkStatus();
}

}  // namespace

bool TraceEvent::is_operator() const {
  return category.empty() || category == "Operator" || category == "cpu_op" ||
         category == "operator" || category == "user_annotation" || category == "phase" ||
         category == "step" || category == "group";
}

bool TraceEvent::is_launch() const {
  return (category == "Runtime" || category == "cuda_runtime") && name == "cudaLaunchKernel";
}

std::string TraceEvent::Describe() const {
  return fmt::format("event {} ({} at {:.0f} us)", number, name, start_us);
}

Result<TraceEvents> ReadTraceEvents(std::string_view text, const std::string& file) {
  ASSIGN_OR_RETURN(const Json json, ParseTrace(text, file));
  TraceEvents trace = {.file = file};
  const Json* events = &json;
  if (json.is_object()) {
    events = Member(json, {"traceEvents"});
    const Json* other = Member(json, {"otherData"});
    trace.is_own_profile =
        other != nullptr && other->is_object() && other->contains("rowhouse_profile");
  }
  if (events == nullptr || !events->is_array()) {
    return UsageError(
        "{}: no trace; expected a list of events, or an object with a list traceEvents", file);
  }
  Reader reader = {.trace = &trace};
  size_t number = 0;
  for (const Json& event : *events) RETURN_IF_ERROR(reader.Read(event, ++number));
  if (trace.events.empty()) {
    return UsageError("{}: none of its {} events is an operator", file, number);
  }
  RETURN_IF_ERROR(Nest(&trace, std::move(reader.threads)));
  return trace;
}

}  // namespace rowhouse
