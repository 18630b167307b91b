// Makers of SettingFields: how a member of Settings of one type is read, checked and printed.
// Only launch/settings/setting_fields.cc and the makers of single fields need them.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <concepts>
#include <limits>
#include <string>
#include <vector>

#include "common/nearest_name.h"
#include "common/read_value.h"
#include "launch/settings/setting_fields.h"

namespace rowhouse {

// Whether a setting decides the trained bits, and so is part of the config digest.
enum class Digest { kIn, kOut };

// Reads the member a maker is about. The same function serves both directions.
template <typename T>
using Member = T& (*)(Settings&);

template <typename T>
const T& ReadMember(Member<T> member, const Settings& settings) {
  return member(const_cast<Settings&>(settings));  // `member` only picks; nobody writes here
}

inline Status Expected(const std::string& what) { return UsageError("expected {}", what); }

inline SettingField BoolField(std::string name, Section section, Digest digest,
                              Member<bool> member) {
  SettingField field{.name = std::move(name),
                     .section = section,
                     .kind = SettingKind::kBool,
                     .is_part_of_digest = digest == Digest::kIn,
                     .expected = "true or false"};
  field.set = [member](const std::string& text, Settings& settings) {
    const auto value = ReadBool(text);
    if (!value) return Expected("true or false");
    member(settings) = *value;
    return OkStatus();
  };
  field.get = [member](const Settings& settings) {
    return std::string(ReadMember(member, settings) ? "true" : "false");
  };
  return field;
}

// A whole number in [low, high]; the end of its type stands for "no bound".
template <std::integral T>
SettingField NumberField(std::string name, Section section, Digest digest, Member<T> member, T low,
                         T high = std::numeric_limits<T>::max()) {
  const std::string what = high == std::numeric_limits<T>::max()
                               ? fmt::format("a whole number of {} or more", low)
                               : fmt::format("a whole number from {} to {}", low, high);
  SettingField field{.name = std::move(name),
                     .section = section,
                     .kind = SettingKind::kNumber,
                     .is_part_of_digest = digest == Digest::kIn,
                     .expected = what};
  field.set = [=](const std::string& text, Settings& settings) {
    using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
    std::optional<Wide> value;
    if constexpr (std::is_signed_v<T>) {
      value = ReadInteger(text);
    } else {
      value = ReadWhole(text);
    }
    if (!value || *value < Wide{low} || *value > Wide{high}) return Expected(what);
    member(settings) = static_cast<T>(*value);
    return OkStatus();
  };
  field.get = [member](const Settings& settings) {
    return fmt::format("{}", ReadMember(member, settings));
  };
  return field;
}

// A real number for which `is_legal` holds; `what` says in words which ones those are.
inline SettingField RealField(std::string name, Section section, Digest digest,
                              Member<double> member, std::string what,
                              bool (*is_legal)(double value)) {
  SettingField field{.name = std::move(name),
                     .section = section,
                     .kind = SettingKind::kNumber,
                     .is_part_of_digest = digest == Digest::kIn,
                     .expected = what};
  field.set = [=](const std::string& text, Settings& settings) {
    const auto value = ReadReal(text);
    if (!value || !is_legal(*value)) return Expected(what);
    member(settings) = *value;
    return OkStatus();
  };
  field.get = [member](const Settings& settings) {
    return fmt::format("{}", ReadMember(member, settings));
  };
  return field;
}

// Any text: a path, an address.
inline SettingField TextField(std::string name, Section section, Digest digest,
                              Member<std::string> member, std::string what) {
  SettingField field{.name = std::move(name),
                     .section = section,
                     .kind = SettingKind::kText,
                     .is_part_of_digest = digest == Digest::kIn,
                     .expected = std::move(what)};
  field.set = [member](const std::string& text, Settings& settings) {
    member(settings) = text;
    return OkStatus();
  };
  field.get = [member](const Settings& settings) { return ReadMember(member, settings); };
  return field;
}

// One of a few words.
inline SettingField ChoiceField(std::string name, Section section, Digest digest,
                                Member<std::string> member, std::vector<std::string> words) {
  SettingField field = TextField(std::move(name), section, digest, member,
                                 fmt::format("one of {}", fmt::join(words, ", ")));
  field.set = [member, words, what = field.expected](const std::string& text, Settings& settings) {
    for (const std::string& word : words) {
      if (word != text) continue;
      member(settings) = text;
      return OkStatus();
    }
    const std::string nearest = NearestName(text, words);
    if (nearest.empty()) return Expected(what);
    return Expected(fmt::format("{}. Did you mean \"{}\"?", what, nearest));
  };
  return field;
}

}  // namespace rowhouse
