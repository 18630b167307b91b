// The source that this program was built from, and the libraries it runs with.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace rowhouse {

// The commit it was built from: "8a2c42b1f0aa", or "8a2c42b1f0aa-dirty" with changes; "": built
// without git. Each build makes the source file of this function (launch/install/commit.cmake).
extern const char* const kCommit;

// Name and version: rowhouse first, with its commit, then the compiler and the libraries, those of
// the machine it runs on where they can be asked.
std::vector<std::pair<std::string, std::string>> Versions();

// What --version prints: a line with version, commit, build type and compiler, then one with the
// libraries, those of the machine it runs on where they can be asked.
std::string VersionText();

}  // namespace rowhouse
