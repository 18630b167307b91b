// Sealed JSON: the text of an object whose last key is a digest of all that stands before it, so
// that no change to the file goes unnoticed. Threads: pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "common/status.h"

namespace rowhouse {

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
