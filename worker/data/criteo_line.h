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

// `line`: without its line end. A kUsage message starts with the 1-based byte column of the
// mistake, so that the caller makes "FILE:LINE:COLUMN" of it.
Status ParseCriteoLine(std::string_view line, CriteoLine* out);

// What the model sees of an integer: log(x + 1) in float32, negative x as 0.
float CriteoDense(int32_t integer);

}  // namespace rowhouse
