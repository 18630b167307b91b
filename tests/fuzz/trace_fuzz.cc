// Fuzzes the readers of traces of ids: whatever a file has, it is read to its end or refused.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "worker/data/traces/trace_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rowhouse;
  const int file = memfd_create("trace", MFD_CLOEXEC);
  if (file < 0 || write(file, data, size) != static_cast<ssize_t>(size)) std::abort();
  constexpr uint64_t kStep = 3;
  const auto trace = OpenTrace("/proc/self/fd/" + std::to_string(file));
  std::vector<Bags> features;
  while (trace.ok()) {
    const Result<uint64_t> read = trace.value()->Read(kStep, &features);
    if (!read.ok() || read.value() == 0) break;
    if (features.size() != trace.value()->tables().size()) std::abort();
    for (const Bags& bags : features) {
      if (bags.samples() != read.value() || bags.offsets.back() != bags.ids.size()) std::abort();
    }
  }
  close(file);
  return 0;
}
