// TraceEvents: the operators of a profile in Chrome's trace format: PyTorch's, old (a list of
// events, category "Operator") or new ({"traceEvents": [...]}, category "cpu_op"), or ours (`train
// --profile`).
//
// Operators of one thread are nested by time. Threads: plain data.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace rowhouse {

struct TraceEvent {
  size_t number = 0;  // in the file, from 1
  std::string name;
  std::string category;  // "": an operator, in some versions
  std::string process;
  double start_us = 0;
  double end_us = 0;
  // Dimensions of the inputs ("Input dims"); nullopt: not recorded.
  std::optional<std::vector<std::vector<int64_t>>> shapes;
  std::optional<int64_t> correlation;     // of a launch of a kernel
  std::map<std::string, double> numbers;  // other args
  std::vector<size_t> children;           // in TraceEvents::events, by time

  bool is_operator() const;
  bool is_launch() const;  // cudaLaunchKernel

  // "event 17 (aten::addmm at 3837 us)", as errors name it.
  std::string Describe() const;
};

// What ran on the device.
struct TraceKernel {
  std::string name;
  uint32_t rows_per_block = 0;  // block[1]; 0: not recorded
};

struct TraceEvents {
  std::string file;
  bool is_own_profile = false;
  std::vector<TraceEvent> events;          // operators and launches, by start
  std::map<int64_t, TraceKernel> kernels;  // by correlation
  std::vector<size_t> roots;               // of all threads, by start
};

// kUsage, beginning with `file` and the place in it, for a text that is no JSON or cut short (line
// and column), no trace, or one without events.
Result<TraceEvents> ReadTraceEvents(std::string_view text, const std::string& file);

}  // namespace rowhouse
