// One line of Criteo's display advertising data (Kaggle 2014, Terabyte), as text:
//
//   label TAB 13 integers TAB 26 hexadecimal tokens
//
// Label is 0 or 1. Integers fit 32 bits and may be negative; tokens have up to 8 digits. Integers
// and tokens may be empty, which means 0.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "common/status.h"

namespace rowhouse {

struct CriteoLine {
  static constexpr size_t kIntegers = 13;
  static constexpr size_t kTokens = 26;
  static constexpr size_t kFields = 1 + kIntegers + kTokens;

  uint8_t label = 0;
  std::array<int32_t, kIntegers> integers{};
  std::array<uint32_t, kTokens> tokens{};  // the token's value
};

// `line`: without its line end; without has_label, without the label and its tab (Criteo's own test
// file), and the label is then 0. A kUsage message starts with the 1-based byte column of the
// mistake, so that the caller makes "FILE:LINE:COLUMN" of it.
Status ParseCriteoLine(std::string_view line, CriteoLine* out, bool has_label = true);

// The line that begins at `begin` and ends with a line end before `end`: the same as
// ParseCriteoLine, several times as fast. Returns where the next line begins, or null for a line
// that ParseCriteoLine has to judge: one that is not as it should be, has an integer of more than
// nine digits, or ends without a line end. *is_missing: bit i is set if integer i is empty.
const char* ReadCriteoLine(const char* begin, const char* end, bool has_label, CriteoLine* out,
                           uint32_t* is_missing);

}  // namespace rowhouse
