// What a file looks like from its first bytes: so that a Parquet file given as text is called one,
// instead of an error in line 1, column 5.
//
// Threads: functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/status.h"

namespace rowhouse {

constexpr size_t kFirstLookBytes = 4096;  // that tell it

// kUsage, saying what the file is and what to do, unless `head`, the first bytes of it
// (uncompressed), looks like text. An empty head is text.
Status CheckIsText(std::string_view head, const std::string& file);

// CheckIsText on a regular file; returns its bytes on disk.
Result<uint64_t> LookAtFile(const std::string& file);

// What a text seems to be, as the rest of an error of its first line: "; the file looks like
// comma-separated values with a header (age, city, ...): describe it in section schema ...", or "".
// `first_record`: without its line end.
std::string GuessOfText(std::string_view first_record);

// The first record of `text` without its line end.
std::string_view FirstRecord(std::string_view text, bool has_quotes);

}  // namespace rowhouse
