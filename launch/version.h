// What this program was built from and what it runs with.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace rowhouse {

// Of the tree it was built from: "8a2c42b1f0aa", "8a2c42b1f0aa-dirty"; "": built without git. Its
// source is made by each build (launch/install/commit.cmake).
extern const char* const kCommit;

// Name and version: rowhouse first, with its commit, then the compiler and the libraries, those of
// the machine it runs on where they can be asked.
std::vector<std::pair<std::string, std::string>> Versions();

// What --version prints: a line with version, commit, build type and compiler, then one with the
// libraries, those of the machine it runs on where they can be asked.
std::string VersionText();

}  // namespace rowhouse
