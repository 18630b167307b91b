// JSON that people read and edit: written an element a line, and read without surprises.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "common/status.h"

namespace rowhouse {

// Each key on a line of its own, and each element of an array of objects, so that two files can be
// compared line by line; ends with a newline.
std::string JsonLines(const nlohmann::ordered_json& object);

// kCorruption, saying `what` it should have been, for anything but a whole number from 0 to `most`:
// the library's own conversion takes -1, 1.5 and 2^32 for others.
Result<uint64_t> ReadJsonNumber(const nlohmann::json& value, std::string_view what, uint64_t most);

}  // namespace rowhouse
