#include "launch/bench/bench_command.h"

#include <fmt/format.h>

#include <map>
#include <utility>
#include <vector>

#include "launch/bench/bench.h"
#include "launch/command_line/verb_flags.h"
#include "launch/program.h"
#include "launch/run/train.h"

namespace rowhouse {
namespace {

std::map<std::string, BenchCommand>& Commands() {
  static std::map<std::string, BenchCommand> commands;
  return commands;
}

// Benches by the flags that only they read.
std::map<std::string, std::string>& Options() {
  static std::map<std::string, std::string> options;
  return options;
}

// rowhouse bench.
Status RunBenchVerb(const CommandLine& command_line, const Settings& settings) {
  ASSIGN_OR_RETURN(const BenchCommand* const command, BenchCommandOf(command_line));
  if (command != nullptr) return command->run(command_line, settings);
  return RunBench(command_line.arguments, command_line.Value(kJsonFlag),
                  {.trace = command_line.Value(kTraceFlag),
                   .profile = command_line.Value(kProfileFlag),
                   .is_long = command_line.Value(kLongFlag) == "true"});
}

REGISTER_MEMBER(AddVerbRun("bench", RunBenchVerb));

}  // namespace

bool AddBenchOption(std::string flag, std::string bench) {
  return Options().emplace(std::move(flag), std::move(bench)).second;
}

std::vector<std::string> BenchCommandNames() {
  std::vector<std::string> names;
  for (const auto& [name, command] : Commands()) {
    if (!command.is_hidden) names.push_back(name);
  }
  return names;
}

bool AddBenchCommand(BenchCommand command) {
  std::string name = command.name;
  return Commands().emplace(std::move(name), std::move(command)).second;
}

Result<const BenchCommand*> BenchCommandOf(const CommandLine& command_line) {
  for (const auto& [flag, bench] : Options()) {
    const std::string value = command_line.Value(flag);
    if (value.empty() || command_line.arguments == std::vector{bench}) continue;
    return UsageError("--{0}={1} is for bench {2} alone; say rowhouse bench {2} --{0}={1}", flag,
                      value, bench);
  }
  for (const std::string& argument : command_line.arguments) {
    const auto found = Commands().find(argument);
    if (found == Commands().end()) continue;
    if (command_line.arguments.size() > 1) {
      return UsageError("bench {} runs alone; leave out the other names", argument);
    }
    if (const std::string trace = command_line.Value(kTraceFlag); !trace.empty()) {
      return UsageError("--trace={}: bench {} reads no trace; leave it out", trace, argument);
    }
    return &found->second;
  }
  return nullptr;
}

std::map<std::string, BenchNote> BenchCommandNotes() {
  std::map<std::string, BenchNote> notes;
  for (const auto& [name, command] : Commands()) {
    if (!command.is_hidden) notes.emplace(name, command.note);
  }
  return notes;
}

}  // namespace rowhouse
