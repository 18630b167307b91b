#include "launch/data/data_argument.h"

#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "common/mutex.h"
#include "common/thread_name.h"

namespace rowhouse {
namespace {

size_t CoresOfThisProcess() {
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0) return 1;
  return static_cast<size_t>(std::max(1, CPU_COUNT(&mask)));
}

}  // namespace

Result<std::shared_ptr<const DataDirectory>> OpenDataArgument(
    const std::string& command, const std::vector<std::string>& arguments,
    const Settings& settings) {
  if (arguments.size() > 1) {
    return UsageError("data {}: expected one data directory, and these are {}: {}", command,
                      arguments.size(), fmt::join(arguments, " "));
  }
  const std::string path = arguments.empty() ? settings.data.file : arguments.front();
  if (path.empty()) return UsageError("data {}: expected the path of a data directory", command);
  return DataDirectory::Open(path);
}

Status ForEachOnAllCores(size_t count, const std::function<Status(size_t i)>& task) {
  std::atomic<size_t> next = 0;
  Mutex mutex;
  Status error;
  size_t error_of = count;
  const auto run = [&] {
    for (;;) {
      const size_t i = next++;
      if (i >= count) return;
      const Status status = task(i);
      if (status.ok()) continue;
      next = count;
      MutexLock lock(mutex);
      if (i >= error_of) continue;
      error = status;
      error_of = i;
    }
  };
  std::vector<std::thread> others;
  for (size_t i = 1; i < std::min(CoresOfThisProcess(), count); ++i) {
    others.emplace_back([&run, i] {
      NameThisThread(fmt::format("data-{}", i));
      run();
    });
  }
  run();
  for (std::thread& other : others) other.join();
  return error;
}

}  // namespace rowhouse
