// What this program is made of. Threads: any.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace rowhouse {

// Name and version: rowhouse first, then the libraries that it was built with, and the compiler.
std::vector<std::pair<std::string, std::string>> Versions();

}  // namespace rowhouse
