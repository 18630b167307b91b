// What this program was built from and what it runs with.
#pragma once

#include <string>

namespace rowhouse {

// Of the tree it was built from: "8a2c42b1f0aa", "8a2c42b1f0aa-dirty"; "": built without git. Its
// source is made by each build (cmake/commit.cmake).
extern const char* const kCommit;

// What --version prints: a line with version, commit, build type and compiler, then one with the
// libraries, those of the machine it runs on where they can be asked.
std::string VersionText();

}  // namespace rowhouse
