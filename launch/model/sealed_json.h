// Sealed JSON: the text of an object whose last key is a digest of all that stands before it, so
// that no change to the file goes unnoticed. Threads: pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "common/status.h"

namespace rowhouse {

// `text`: of an object that is not empty, whose brace ends it on a line of its own.
std::string SealJson(std::string_view text);

// kCorruption, a sentence without a subject, unless `text` is as SealJson gave it.
Status CheckSeal(std::string_view text);

// OK if `text`, whose value is `json`, is sealed and has this "format_version". Of a newer program
// nothing is known, but that it seals what it writes. kUsage for another version; `older` ends the
// sentence for an earlier one: "which had no digests; make it anew". Throws nlohmann's exception if
// there is no version.
Status CheckSealedVersion(const nlohmann::json& json, std::string_view text, int version,
                          std::string_view older);

}  // namespace rowhouse
