#include "launch/bench/bench_command.h"

#include <fmt/format.h>

#include <map>
#include <utility>
#include <vector>

namespace rowhouse {
namespace {

std::map<std::string, BenchCommand>& Commands() {
  static std::map<std::string, BenchCommand> commands;
  return commands;
}

}  // namespace

bool AddBenchCommand(BenchCommand command) {
  std::string name = command.name;
  return Commands().emplace(std::move(name), std::move(command)).second;
}

Result<const BenchCommand*> BenchCommandOf(const CommandLine& command_line) {
  const std::string only = command_line.Value(kOnlyFlag);
  if (!only.empty() && command_line.arguments != std::vector<std::string>{"kernels"}) {
    return UsageError("--only={0}: it chooses kernels; say rowhouse bench kernels --only={0}",
                      only);
  }
  for (const std::string& argument : command_line.arguments) {
    const auto found = Commands().find(argument);
    if (found == Commands().end()) continue;
    if (command_line.arguments.size() > 1) {
      return UsageError("bench {} runs alone; leave out the other names", argument);
    }
    return &found->second;
  }
  return nullptr;
}

std::string BenchCommandListText() {
  std::string text;
  for (const auto& [name, command] : Commands()) {
    if (command.is_hidden) continue;
    text += fmt::format("  {:<28}{:<13}{}\n", name, command.note.time, command.note.what);
  }
  return text;
}

}  // namespace rowhouse
