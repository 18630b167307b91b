// The one way to read a value that a person wrote: flags, YAML, options of tables and of their
// kinds all read it here, so that a text means the same everywhere.
//
// The whole text must be the value; std::nullopt otherwise. What fmt prints of a value reads back
// to the same value, bit for bit. Threads: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rowhouse {

// 4000000, 4_000_000, 4e6, 2.5e6 or 0x3d0900. Never a fraction: 1.5 and 25e-1 are no whole numbers.
std::optional<uint64_t> ReadWhole(std::string_view text);
// The same, with a - before it if need be.
std::optional<int64_t> ReadInteger(std::string_view text);

// 0.01, 1e-2, 1_000.5. Finite.
std::optional<double> ReadReal(std::string_view text);

// A size, as a number of units of `unit` bytes. A number alone is a number of units. A number with
// K, M, G or T behind it is one of KiB, MiB, GiB or TiB (KB and KiB mean the same as K). With unit
// 2^20, "4096", "4GB" and "4 GiB" are all 4096. std::nullopt if the size is no whole number of
// units.
std::optional<uint64_t> ReadSize(std::string_view text, uint64_t unit);

// true, t, yes, y, 1, on and their opposites, in any case: DLRM's scripts write True.
std::optional<bool> ReadBool(std::string_view text);

// Whether a number is finite as f32: at most 3.4028235e38 on either side of 0.
bool IsFiniteAsFloat(double value);

// The items between `-`, as DLRM writes lists ("512-256-1"), or between `,` where there is one.
// "" is the empty list; empty items stay in it.
std::vector<std::string> SplitList(std::string_view text);

// The same, only between commas: for items that may hold a `-`, such as host names.
std::vector<std::string> SplitAtCommas(std::string_view text);

}  // namespace rowhouse
