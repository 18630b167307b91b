// Settings as text: the one reading of a value for flags and YAML, and its printing back.
//
// Reading is strict: the whole text must be the value. A value read from printed text is the same
// value, bit for bit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rowhouse {

std::optional<int64_t> ReadInteger(std::string_view text);
std::optional<uint64_t> ReadWhole(std::string_view text);
std::optional<double> ReadReal(std::string_view text);  // finite

// Whether what is computed with as f32 is finite there: up to 3.4028235e38.
bool IsFiniteAsFloat(double value);

// true, t, yes, y, 1, on and their opposites, in any case: DLRM's scripts write True.
std::optional<bool> ReadBool(std::string_view text);

// The items between `-`, as DLRM writes lists ("512-256-1"), or between `,` where there is one.
// "" is the empty list; empty items stay in it.
std::vector<std::string> SplitList(std::string_view text);

// The same, only between commas: for items that may hold a `-`, such as host names.
std::vector<std::string> SplitAtCommas(std::string_view text);

}  // namespace rowhouse
