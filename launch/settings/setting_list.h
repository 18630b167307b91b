// What an entry of a setting is written with. The files of launch/settings/entries/ are the only
// ones that include it:
//
//   list.Add(Whole(MEMBER(storage.cache_ways), 1, 1024),
//            {.help = "Associativity of the caches; 1: fully associative"});
//
// The first part says which member holds the value and which values are legal; the default is the
// member's initialiser. The second says what people see: the name is the member's unless it says
// another. Threads: plain data.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <concepts>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/registry.h"
#include "common/value.h"
#include "launch/settings/setting_fields.h"

namespace rowhouse {

// ---- The member -----------------------------------------------------------------------------

// A member of Settings, which may lie in a struct of a struct.
template <typename T>
struct Member {
  std::string path;  // "storage.cache_ways"
  std::function<T&(Settings&)> pick;
};

#define MEMBER(path)                                                \
  ::rowhouse::Member<decltype(::rowhouse::Settings().path)> {       \
#path, [](::rowhouse::Settings & s) -> auto& { return s.path; } \
  }

// ---- Values ---------------------------------------------------------------------------------
// Each makes the part of a SettingField that reads, checks and prints a value (common/value.h).

template <typename T>
SettingField Held(const Member<T>& member, const Value<T>& value) {
  SettingField field{MakeKey<Settings>("", value, member.pick)};
  field.member = member.path;
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

// Calls `change` for each table there is, and for table_defaults, with which each further table
// begins. What the YAML file says of one table afterwards wins (launch/settings/key_fields.h).
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
  std::string name = {};                  // "": that of the member
  std::string help = {};                  // a sentence or two, without the last full stop
  std::vector<std::string> aliases = {};  // other names, for flags and YAML
  std::string unit = {};                  // "ms", "MiB", "samples"
  Digest digest = Digest::kOut;
  bool is_basic = false;    // on the first page of --help
  VerbSet verbs = kNoVerb;  // kNoVerb: those that take settings of the section
  // What else follows from a value that was set: of all tables.
  std::function<void(Settings&)> then = {};
};

// Where the values of options that members of a family declare lie in Settings.
using PickOptions = OptionValues& (*)(Settings&);

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

// Entries of options that members of families declare in their own files
// (common/declared_option.h): all that people see of an option follows from its declaration.
// `path`: the path of the member of Settings that `pick` returns: "data.own".
SettingField Declared(const DeclaredOption& option, PickOptions pick, const std::string& path);

// `takers`: names of the members that take the option; `prefix`: stands before its name.
Entry EntryOf(const DeclaredOption& option, const std::vector<std::string>& takers,
              const std::string& prefix = "");

// Every option that members of `family` declare. `digest`: kOut of a family whose members all give
// the same trained bits.
template <typename... Family>
void AddDeclared(SettingList& list, const Registry<Family...>& family, PickOptions pick,
                 const std::string& path, Digest digest = Digest::kIn) {
  for (const DeclaredOption& option : family.DeclaredOptions()) {
    Entry entry = EntryOf(option, family.NamesTaking(option.name()));
    entry.digest = digest;
    list.Add(Declared(option, pick, path), std::move(entry));
  }
}

// A function that adds some entries; a file of entries/ registers its own at namespace scope:
//   REGISTER_MEMBER(RegisterSettings(Section::kStorage, {AddCaches, AddStore}));
// Requires one call a section, so that the order of entries does not depend on the linker's order
// of files.
using AddSettings = void (*)(SettingList& list);
bool RegisterSettings(Section section, std::vector<AddSettings> functions);
const std::vector<AddSettings>& SettingEntries(Section section);

}  // namespace rowhouse
