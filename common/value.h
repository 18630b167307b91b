// Value<T>: a value as a person writes it: which texts mean one, what to say of others, and how it
// is printed. Settings, options of tables and kinds, keys of the YAML file and flags of verbs
// (ReadFlag) are made of these.
//
//   WholeValue<uint32_t>(1, 9).read("12")   ->  kUsage "expected a whole number from 1 to 9"
//
// What `print` writes, `read` reads back to the same value, bit for bit. Threads: const after
// construction; any thread.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <concepts>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/read_value.h"
#include "common/status.h"

namespace rowhouse {

// kUsage with the rest of a sentence; the caller says of which flag or key, and where.
inline Status Expected(const std::string& what) { return UsageError("expected {}", what); }

template <typename T>
struct Value {
  std::string expected;                                    // "a whole number from 1 to 9"
  std::function<Result<T>(const std::string& text)> read;  // kUsage
  std::function<std::string(const T& value)> print;
  std::vector<std::string> words = {};  // all legal texts, where it is one of a few
};

// Makes one of `parse`, which returns std::nullopt for a text that is no such value.
template <typename T, typename Parse, typename Print>
Value<T> MakeValue(const std::string& expected, Parse parse, Print print) {
  return {.expected = expected,
          .read = [parse, expected](const std::string& text) -> Result<T> {
            if (std::optional<T> value = parse(text)) return *std::move(value);
            return Expected(expected);
          },
          .print = print};
}

Value<bool> BoolValue();
Value<std::string> TextValue(const std::string& expected,
                             std::function<bool(const std::string& text)> is_legal = nullptr);
// One of `words`; names the nearest for another.
Value<std::string> WordValue(const std::vector<std::string>& words);
// A size in units of MiB, with or without a unit of its own (4096, 4GB), of [low, high] MiB.
Value<uint64_t> MebibytesValue(uint64_t low, uint64_t high);

// A whole number in [low, high]. The largest value of its type as `high` means that there is no
// upper bound.
template <std::integral T>
Value<T> WholeValue(std::type_identity_t<T> low,
                    std::type_identity_t<T> high = std::numeric_limits<T>::max()) {
  const std::string expected = high == std::numeric_limits<T>::max()
                                   ? fmt::format("a whole number of {} or more", low)
                                   : fmt::format("a whole number from {} to {}", low, high);
  return MakeValue<T>(
      expected,
      [low, high](const std::string& text) -> std::optional<T> {
        using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
        std::optional<Wide> value;
        if constexpr (std::is_signed_v<T>) {
          value = ReadInteger(text);
        } else {
          value = ReadWhole(text);
        }
        if (!value || *value < Wide{low} || *value > Wide{high}) return std::nullopt;
        return static_cast<T>(*value);
      },
      [](const T& value) { return fmt::format("{}", value); });
}

// A number for which `is_legal` holds; `expected` says in words which ones those are. One of T =
// float is rounded to a float first; a number other than 0 that becomes 0 is not legal, because 0
// may stand for something else.
template <std::floating_point T>
Value<T> RealValue(const std::string& expected, std::function<bool(double value)> is_legal) {
  return MakeValue<T>(
      expected,
      [is_legal](const std::string& text) -> std::optional<T> {
        const auto value = ReadReal(text);
        if (!value) return std::nullopt;
        const T rounded = static_cast<T>(*value);
        const bool vanishes = *value != 0.0 && rounded == T{0};
        if (vanishes || !is_legal(static_cast<double>(rounded))) return std::nullopt;
        return rounded;
      },
      [](const T& value) { return fmt::format("{}", value); });
}

// What `value` reads, or `word` for std::nullopt.
template <typename T>
Value<std::optional<T>> OrWord(const Value<T>& value, const std::string& word) {
  return {.expected = fmt::format("{}, or {}", value.expected, word),
          .read = [value, word](const std::string& text) -> Result<std::optional<T>> {
            if (text == word) return std::optional<T>();
            Result<T> read = value.read(text);
            if (!read.ok()) return Expected(fmt::format("{}, or {}", value.expected, word));
            return std::optional<T>(std::move(read).value());
          },
          .print = [value, word](
                       const std::optional<T>& read) { return read ? value.print(*read) : word; }};
}

// Items joined by `separator` when printed; when read, by commas alone if that is ',', otherwise by
// - or ,. An empty list only if `may_be_empty`.
template <typename T>
Value<std::vector<T>> ListValue(const std::string& expected, const Value<T>& item, char separator,
                                bool may_be_empty) {
  return MakeValue<std::vector<T>>(
      expected,
      [=](const std::string& text) -> std::optional<std::vector<T>> {
        std::vector<T> values;
        for (const std::string& one : separator == ',' ? SplitAtCommas(text) : SplitList(text)) {
          Result<T> value = item.read(one);
          if (!value.ok()) return std::nullopt;
          values.push_back(std::move(value).value());
        }
        if (values.empty() && !may_be_empty) return std::nullopt;
        return values;
      },
      [item, separator](const std::vector<T>& values) {
        std::string text;
        for (const T& value : values) {
          if (!text.empty()) text += separator;
          text += item.print(value);
        }
        return text;
      });
}

// ---- The commonest bounds of real numbers -------------------------------------------------------

inline bool IsAny(double) { return true; }
inline bool IsPositive(double value) { return value > 0.0; }
inline bool IsNotNegative(double value) { return value >= 0.0; }
inline bool IsBelowOne(double value) { return value >= 0.0 && value < 1.0; }
inline bool IsFloatNotNegative(double value) { return value >= 0.0 && IsFiniteAsFloat(value); }
inline bool IsFloatNotNegativeOrMinusOne(double value) {
  return IsFloatNotNegative(value) || value == -1.0;
}

}  // namespace rowhouse
