// What an entry of a setting is written with. The files of launch/settings/entries/ are the only
// ones that include it:
//
//   list.Add(Whole(MEMBER(storage.cache_ways), 1, 1024),
//            {.name = "cache_ways", .help = "Associativity of the caches; 1: fully associative"});
//
// The first part says which member holds the value and which values are legal; the default is the
// member's initialiser. The second says what people see. Threads: plain data.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <concepts>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/nearest_name.h"
#include "common/read_value.h"
#include "common/register_member.h"
#include "common/registry.h"
#include "launch/settings/setting_fields.h"

namespace rowhouse {

// ---- The member -----------------------------------------------------------------------------

// A member of Settings, which may lie in a struct of a struct.
template <typename T>
struct Member {
  std::string path;       // "storage.cache_ways"
  T& (*pick)(Settings&);  // to read the member and to write it

  T& Of(Settings& settings) const { return pick(settings); }
  const T& Of(const Settings& settings) const {
    return pick(const_cast<Settings&>(settings));  // `pick` only picks; nobody writes here
  }
};

#define MEMBER(path)                                                \
  ::rowhouse::Member<decltype(::rowhouse::Settings().path)> {       \
#path, [](::rowhouse::Settings & s) -> auto& { return s.path; } \
  }

inline Status Expected(const std::string& what) { return UsageError("expected {}", what); }

// ---- Values ---------------------------------------------------------------------------------
// Each makes the part of a SettingField that reads, checks and prints a value.

SettingField Switch(Member<bool> member);
SettingField Text(Member<std::string> member, const std::string& what);
// One of a few words.
SettingField Choice(Member<std::string> member, const std::vector<std::string>& words);
// A number for which `is_legal` holds; `what` says in words which ones those are.
SettingField Real(Member<double> member, const std::string& what, bool (*is_legal)(double value));
// A size in MiB, with or without a unit (4096, 4GB), of [low, high] MiB.
SettingField Mebibytes(Member<uint64_t> member, uint64_t low, uint64_t high);

// The name of a member of a family.
template <typename Interface, typename Options>
SettingField Name(const Member<std::string>& member, const Registry<Interface, Options>& family) {
  SettingField field = Choice(member, family.Names());
  field.set = [member, &family](const std::string& text, Settings& settings) {
    RETURN_IF_ERROR(family.Validate(text));
    member.Of(settings) = text;
    return OkStatus();
  };
  return field;
}

// A whole number in [low, high]. The largest value of its type as `high` means that there is no
// upper bound.
template <std::integral T>
SettingField Whole(const Member<T>& member, std::type_identity_t<T> low,
                   std::type_identity_t<T> high = std::numeric_limits<T>::max()) {
  const std::string what = high == std::numeric_limits<T>::max()
                               ? fmt::format("a whole number of {} or more", low)
                               : fmt::format("a whole number from {} to {}", low, high);
  SettingField field{.kind = SettingKind::kNumber, .expected = what, .member = member.path};
  field.set = [=](const std::string& text, Settings& settings) {
    using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
    std::optional<Wide> value;
    if constexpr (std::is_signed_v<T>) {
      value = ReadInteger(text);
    } else {
      value = ReadWhole(text);
    }
    if (!value || *value < Wide{low} || *value > Wide{high}) return Expected(what);
    member.Of(settings) = static_cast<T>(*value);
    return OkStatus();
  };
  field.get = [member](const Settings& settings) { return fmt::format("{}", member.Of(settings)); };
  return field;
}

// Whole numbers in [low, high], joined by `separator` when printed; by - or , when read, or only by
// commas if `separator` is one. An empty list only if `may_be_empty`.
struct ListForm {
  uint64_t low = 1, high = 0;
  char separator = '-';
  bool may_be_empty = false;
  std::string what;  // "whole numbers from 1 to 9, joined by - (such as 4-3-2)"
};
template <typename T>
SettingField Wholes(std::string member, const ListForm& form,
                    std::vector<T> (*read)(const Settings&),
                    void (*write)(std::vector<T>, Settings&)) {
  SettingField field{
      .kind = SettingKind::kNumberList, .expected = form.what, .member = std::move(member)};
  field.set = [=](const std::string& text, Settings& settings) {
    std::vector<T> values;
    for (const std::string& item : form.separator == ',' ? SplitAtCommas(text) : SplitList(text)) {
      const auto value = ReadWhole(item);
      if (!value || *value < form.low || *value > form.high) return Expected(form.what);
      values.push_back(static_cast<T>(*value));
    }
    if (values.empty() && !form.may_be_empty) return Expected(form.what);
    write(std::move(values), settings);
    return OkStatus();
  };
  field.get = [=](const Settings& settings) {
    return fmt::format("{}", fmt::join(read(settings), std::string(1, form.separator)));
  };
  return field;
}

// The commonest bounds of real numbers.
inline bool IsAny(double) { return true; }
inline bool IsPositive(double value) { return value > 0.0; }
inline bool IsNotNegative(double value) { return value >= 0.0; }
inline bool IsBelowOne(double value) { return value >= 0.0 && value < 1.0; }
inline bool IsFloatNotNegative(double value) { return value >= 0.0 && IsFiniteAsFloat(value); }
inline bool IsFloatNotNegativeOrMinusOne(double value) {
  return IsFloatNotNegative(value) || value == -1.0;
}

// Calls `change` for each table there is, and for table_defaults, with which each further table
// begins. What the YAML file says of one table afterwards wins (launch/settings/table_fields.h).
template <typename Change>
void ForAllTables(Settings& settings, const Change& change) {
  change(settings.table_defaults);
  for (LogicalTable& table : settings.tables) change(table);
}

// ---- Entries --------------------------------------------------------------------------------

// Whether a setting decides the trained bits, and so is part of the config digest. kOfRun: it does,
// and runs of one model may have different values (launch/settings/going_on.h).
enum class Digest { kIn, kOfRun, kOut };

// What people see of a setting.
struct Entry {
  std::string name;
  std::string help;                       // a sentence or two, without the last full stop
  std::vector<std::string> aliases = {};  // other names, for flags and YAML
  std::string unit = {};                  // "ms", "MiB", "samples"
  Digest digest = Digest::kOut;
  bool is_basic = false;         // on the first page of --help
  VerbSet verbs = kNoVerb;       // kNoVerb: those that take settings of the section
  void (*then)(Settings&) = {};  // what else follows from a value that was set: of all tables
};

// The entries of one section.
class SettingList {
 public:
  explicit SettingList(Section section) : section_(section) {}

  void Add(SettingField value, Entry entry);
  std::vector<SettingField> Take() { return std::move(fields_); }

 private:
  const Section section_;
  std::vector<SettingField> fields_;
};

// A function that adds some entries; a file of entries/ registers its own at namespace scope:
//   REGISTER_MEMBER(RegisterSettings(Section::kStorage, {AddCaches, AddStore}));
// Requires one call a section, so that the order of entries does not depend on the linker's order
// of files.
using AddSettings = void (*)(SettingList& list);
bool RegisterSettings(Section section, std::vector<AddSettings> functions);
const std::vector<AddSettings>& SettingEntries(Section section);

}  // namespace rowhouse
