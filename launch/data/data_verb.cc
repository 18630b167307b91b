#include "launch/data/data_verb.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include "common/mutex.h"
#include "common/nearest_name.h"
#include "common/thread_name.h"
#include "worker/data/text/text_format.h"

namespace rowhouse {
namespace {

std::map<std::string, DataCommand>& Commands() {
  static std::map<std::string, DataCommand> commands;
  return commands;
}

std::string ListOfCommands() {
  std::string list;
  for (const auto& [name, command] : Commands()) {
    list += fmt::format("\n  rowhouse data {} {}: {}", name, command.arguments, command.what);
  }
  return list;
}

}  // namespace

bool AddDataCommand(DataCommand command) {
  const std::string name = command.name;
  return Commands().emplace(name, std::move(command)).second;
}

Status RunDataVerb(const CommandLine& command_line, const Settings& settings) {
  if (command_line.arguments.empty()) {
    return UsageError("data: expected a command:{}", ListOfCommands());
  }
  const std::string& name = command_line.arguments.front();
  const auto found = Commands().find(name);
  if (found == Commands().end()) {
    std::vector<std::string> names;
    for (const auto& [known, command] : Commands()) names.push_back(known);
    return UsageError("data: unknown command \"{}\" {}", name, DescribeKnownNames(name, names));
  }
  const std::vector<std::string> rest(command_line.arguments.begin() + 1,
                                      command_line.arguments.end());
  return found->second.run(command_line, rest, settings);
}

std::string TextSourceOf(const std::string& data_generation, const Schema& schema) {
  const std::vector<std::string> formats = TextFormats().Names();
  if (std::ranges::count(formats, data_generation) > 0) return data_generation;
  return schema.format.empty() ? "criteo" : schema.format;
}

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
