// Sealed JSON: the text of an object whose last key is a digest of all that stands before it, so
// that no change to the file goes unnoticed. Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "common/status.h"

namespace rowhouse {

// `text`: of an object that is not empty, whose brace ends it on a line of its own.
std::string SealJson(std::string_view text);

// Whether it has such a digest, right or wrong.
bool IsSealed(std::string_view text);

// kCorruption, a sentence without a subject, unless `text` is as SealJson gave it.
Status CheckSeal(std::string_view text);

}  // namespace rowhouse
