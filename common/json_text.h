// JSON that people read and edit: one element a line, strict reading, errors with line numbers; and
// JSON that is sealed by a digest of itself.
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

// The text of a value, on one line, or with `indent` blanks a level. Never throws, as the library's
// own dump() does: bytes that are no UTF-8, which a path may have, become U+FFFD. What must survive
// is put into a value by JsonOfPath.
std::string DumpJson(const nlohmann::json& value, int indent = -1);
std::string DumpJson(const nlohmann::ordered_json& value, int indent = -1);

// A path as a text that JSON can hold: itself if it is UTF-8, else "file:" and the path with the
// odd bytes, and "%", as "%FF". PathOfJson gives back the path.
std::string JsonOfPath(const std::string& path);
std::string PathOfJson(const std::string& text);

// Writes each key, and each element of an array of objects, on a line of its own, so that files can
// be compared line by line. Ends with a newline.
std::string JsonLines(const nlohmann::ordered_json& object);

// A whole number from 0 to `max`. kCorruption, naming `what`, for anything else: the library's own
// conversion turns -1, 1.5 and 2^32 into other numbers.
Result<uint64_t> ReadJsonNumber(const nlohmann::json& value, std::string_view what, uint64_t max);

// The number of a file's format: 1 or more. kCorruption, naming `what`, for anything else.
Result<uint64_t> ReadFormatNumber(const nlohmann::json& value, std::string_view what);

// The deepest nesting of lists and objects that is read. The library prints, copies and compares
// values recursively, so that a text of brackets alone would overflow the stack.
inline constexpr int kMaxJsonDepth = 32;

// Reads the JSON of a peer or a file. kCorruption if it is no JSON or nested deeper than
// kMaxJsonDepth; the message is a predicate, "is no JSON", for the caller to put a subject before.
Result<nlohmann::json> ParseJson(std::string_view text);

// `value` as JSON, at most 40 letters of it; for messages.
std::string ShownJson(const nlohmann::json& value);

// The value that a text holds, and the lines on which its objects stand.
struct JsonText {
  nlohmann::json value;
  // lines["slices"][i] is the number, from 1, of the line on which object i of the list "slices"
  // stands. This is right only if the key occurs once in the text.
  std::map<std::string, std::vector<size_t>> lines;

  // "slice 3 (line 17)" for element `index`, from 0, of the list `key`; without the line if it is
  // not known.
  std::string Describe(std::string_view what, const std::string& key, size_t index) const;
};

// kUsage, naming the line, if it is no JSON, if an object has a key twice, and if it is nested
// deeper than kMaxJsonDepth.
Result<JsonText> ReadJsonText(const std::string& text);

// OK if `object` has all keys of `needed` and no others but those of `optional`. Otherwise
// kCorruption with a predicate: "has no \"shard\"".
Status CheckJsonKeys(const nlohmann::json& object, const std::vector<std::string>& needed,
                     const std::vector<std::string>& optional = {});

// kCorruption, naming `what`, if `value` is no string.
Result<std::string> ReadJsonString(const nlohmann::json& value, std::string_view what);
// kCorruption, naming `what`, if `value` is no list.
Status CheckJsonList(const nlohmann::json& value, std::string_view what);

// ---- Sealed JSON --------------------------------------------------------------------------------
// The text of an object whose last key is a digest of all that stands before it, so that no change
// to the file goes unnoticed.

// `text`: a non-empty JSON object whose closing brace is alone on the last line.
std::string SealJson(std::string_view text);

// kCorruption, a sentence without a subject, unless `text` is as SealJson gave it.
Status CheckSeal(std::string_view text);

// OK if `text`, whose value is `json`, is sealed and has this "format_version". kCorruption if the
// seal is wrong, in any version, or if this version has none, or if the version is no positive
// whole number. Else kUsage for another version;
// `older` ends the sentence for an earlier one: "without digests of its files; export again".
// Throws nlohmann's exception if there is no version.
Status CheckSealedVersion(const nlohmann::json& json, std::string_view text, uint64_t version,
                          std::string_view older);

}  // namespace rowhouse
