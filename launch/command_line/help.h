// What --help prints. Threads: one.
#pragma once

#include <string>

namespace rowhouse {

enum class HelpPage {
  kBasic,  // the settings that most runs need, for verbs that take many
  kAll,
};

// The verbs, for ""; or the flags of one verb by section, with defaults and what they take.
std::string HelpText(const std::string& verb, HelpPage page = HelpPage::kBasic);

// Of `rowhouse plan`: for "", what it can be asked for; else the flags of one of PlanTopics.
std::string PlanHelpText(const std::string& topic);

// A script for bash that completes verbs, flags and values of flags. Kept as
// share/bash-completion/completions/rowhouse by `cmake --install`.
std::string BashCompletion();

}  // namespace rowhouse
