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

#include <algorithm>
#include <concepts>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/register_member.h"
#include "common/registry.h"
#include "common/value.h"
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

// ---- Values ---------------------------------------------------------------------------------
// Each makes the part of a SettingField that reads, checks and prints a value (common/value.h).

template <typename T>
SettingField Held(const Member<T>& member, const Value<T>& value) {
  SettingField field{.expected = value.expected, .words = value.words, .member = member.path};
  if constexpr (std::is_same_v<T, bool>) {
    field.kind = SettingKind::kBool;
  } else if constexpr (std::is_arithmetic_v<T>) {
    field.kind = SettingKind::kNumber;
  } else if constexpr (!std::is_same_v<T, std::string>) {
    field.kind = SettingKind::kNumberList;
  }
  field.set = [member, value](const std::string& text, Settings& settings) {
    ASSIGN_OR_RETURN(member.Of(settings), value.read(text));
    return OkStatus();
  };
  field.get = [member, value](const Settings& settings) {
    return value.print(member.Of(settings));
  };
  return field;
}

inline SettingField Switch(const Member<bool>& member) { return Held(member, BoolValue()); }
inline SettingField Text(const Member<std::string>& member, const std::string& what) {
  return Held(member, TextValue(what));
}
inline SettingField Choice(const Member<std::string>& member,
                           const std::vector<std::string>& words) {
  return Held(member, WordValue(words));
}
inline SettingField Real(const Member<double>& member, const std::string& what,
                         bool (*is_legal)(double value)) {
  return Held(member, RealValue<double>(what, is_legal));
}
inline SettingField Mebibytes(const Member<uint64_t>& member, uint64_t low, uint64_t high) {
  return Held(member, MebibytesValue(low, high));
}
template <std::integral T>
SettingField Whole(const Member<T>& member, std::type_identity_t<T> low,
                   std::type_identity_t<T> high = std::numeric_limits<T>::max()) {
  return Held(member, WholeValue<T>(low, high));
}

// The name of a member of a family.
template <typename... Family>
SettingField Name(const Member<std::string>& member, const Registry<Family...>& family) {
  SettingField field = Choice(member, family.Names());
  field.set = [member, &family](const std::string& text, Settings& settings) {
    RETURN_IF_ERROR(family.Validate(text));
    member.Of(settings) = text;
    return OkStatus();
  };
  return field;
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
  bool Has(const std::string& name) const {
    return std::ranges::count(fields_, name, &SettingField::name) > 0;
  }
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
