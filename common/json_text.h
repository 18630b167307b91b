// JSON that people read and edit: written an element a line, and read without surprises.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace rowhouse {

// Each key on a line of its own, and each element of an array of objects, so that two files can be
// compared line by line; ends with a newline.
std::string JsonLines(const nlohmann::ordered_json& object);

// kCorruption, saying `what` it should have been, for anything but a whole number from 0 to `most`:
// the library's own conversion takes -1, 1.5 and 2^32 for others.
Result<uint64_t> ReadJsonNumber(const nlohmann::json& value, std::string_view what, uint64_t most);

// Levels of lists and objects within one another that a text may have. The library walks values
// recursively (to print, copy or compare them): without a bound, a text of brackets alone would
// overflow the stack of whoever reads it.
inline constexpr int kMaxJsonDepth = 32;

// kCorruption for what is no JSON, and for what is nested deeper than kMaxJsonDepth: the rest of a
// sentence about it, "is no JSON". The one way to read JSON of a peer or a file.
Result<nlohmann::json> ParseJson(std::string_view text);

// `value` as JSON, cut after 40 letters: for messages.
std::string ShownJson(const nlohmann::json& value);

// What a text says, and where.
struct JsonText {
  nlohmann::json value;
  // By key: the line, from 1, of each object in the list that has it. Of keys that stand at one
  // place of the text only.
  std::map<std::string, std::vector<size_t>> lines;

  // "slice 3 (line 17)", of element `index`, from 0, of the list `key`; without a line if the text
  // has none there.
  std::string Describe(std::string_view what, const std::string& key, size_t index) const;
};

// kUsage, naming the line, for what is no JSON, for an object that has a key twice, and for what
// is nested deeper than kMaxJsonDepth.
Result<JsonText> ReadJsonText(const std::string& text);

// OK for an object that has all of `needed`, and nothing else but what `optional` names. Otherwise
// kCorruption with the rest of a sentence about it: "has no \"shard\"".
Status CheckJsonKeys(const nlohmann::json& object, const std::vector<std::string>& needed,
                     const std::vector<std::string>& optional = {});

// kCorruption, saying `what` it should have been, for anything but a text, or but a list.
Result<std::string> ReadJsonString(const nlohmann::json& value, std::string_view what);
Status CheckJsonList(const nlohmann::json& value, std::string_view what);

}  // namespace rowhouse
