// Completion of command lines in a shell. Threads: pure functions.
#pragma once

#include <string>

namespace rowhouse {

// A script for bash that completes verbs, flags and values of flags. Kept as
// share/bash-completion/completions/rowhouse by `cmake --install`.
std::string BashCompletion();

}  // namespace rowhouse
