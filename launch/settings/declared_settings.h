// Entries of settings for options that members of families declare in their own files
// (common/declared_option.h): flag, YAML key, --help, --print_config and digest of an option follow
// from its declaration. Only the files of launch/settings/entries/ include this.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

#include "common/declared_option.h"
#include "launch/settings/setting_list.h"

namespace rowhouse {

// Where the values of a family's options lie in Settings.
using PickOptions = OptionValues& (*)(Settings&);

// `path`: the path of the member of Settings that `pick` returns: "data.own".
SettingField Declared(const DeclaredOption& option, PickOptions pick, const std::string& path);

// The entry of an option, as people see it. `takers`: names of the members that take the option;
// `prefix`: stands before its name.
Entry EntryOf(const DeclaredOption& option, const std::vector<std::string>& takers,
              const std::string& prefix = "");

// Every option that members of `family` declare. `decides`: what is said of those that decide the
// trained bits.
template <typename... Family>
void AddDeclared(SettingList& list, const Registry<Family...>& family, PickOptions pick,
                 const std::string& path, Digest decides = Digest::kIn) {
  for (const DeclaredOption& option : family.DeclaredOptions()) {
    Entry entry = EntryOf(option, family.NamesTaking(option.name()));
    if (entry.digest == Digest::kIn) entry.digest = decides;
    list.Add(Declared(option, pick, path), std::move(entry));
  }
}

}  // namespace rowhouse
