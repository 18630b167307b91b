// `rowhouse data WORDS`, called as the program calls it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "launch/command_line/made_settings.h"
#include "launch/data/data_verb.h"

namespace rowhouse {

inline Status RunDataWords(std::vector<std::string> words) {
  words.insert(words.begin(), {"rowhouse", "data"});
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  ASSIGN_OR_RETURN(const CommandLine command_line,
                   ParseCommandLine(static_cast<int>(argv.size()), argv.data()));
  ASSIGN_OR_RETURN(const Settings settings, MakeSettings(command_line));
  RETURN_IF_ERROR(settings.Validate(false));
  return RunDataVerb(command_line, settings);
}

}  // namespace rowhouse
