#include "launch/data/data_verb.h"

#include <fmt/format.h>

#include <map>

#include "common/nearest_name.h"

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

Status RunData(const CommandLine& command_line, const Settings& settings) {
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

}  // namespace rowhouse
