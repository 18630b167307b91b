#include "launch/settings/setting_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "launch/settings/setting_list.h"

namespace rowhouse {
namespace {

constexpr std::array<std::string_view, 8> kSectionNames = {
    "model", "data", "training", "storage", "cluster", "output", "run", "server"};

std::vector<SettingField> MakeFields() {
  std::vector<SettingField> fields;
  for (size_t s = 0; s < kSectionNames.size(); ++s) {
    SettingList list(static_cast<Section>(s));
    for (const AddSettings add : SettingEntries(static_cast<Section>(s))) add(list);
    std::ranges::move(list.Take(), std::back_inserter(fields));
  }
  return fields;
}

}  // namespace

std::string_view SectionName(Section section) {
  return kSectionNames.at(static_cast<size_t>(section));
}

std::string SettingField::default_text() const {
  static const Settings kDefaults;
  return get(kDefaults);
}

std::span<const SettingField> SettingFields() {
  static const std::vector<SettingField> fields = MakeFields();
  return fields;
}

const SettingField* FindSettingField(std::string_view name) {
  for (const SettingField& field : SettingFields()) {
    if (field.name == name || std::ranges::count(field.aliases, name) > 0) return &field;
  }
  return nullptr;
}

std::vector<std::string> SettingNames(Section section) {
  std::vector<std::string> names;
  for (const SettingField& field : SettingFields()) {
    if (field.section != section) continue;
    names.push_back(field.name);
    names.insert(names.end(), field.aliases.begin(), field.aliases.end());
  }
  return names;
}

std::vector<std::string> NodeFlags(const Settings& settings) {
  std::vector<std::string> flags;
  for (const SettingField& field : SettingFields()) {
    if (field.section != Section::kStorage || (field.verbs & kPs) == 0) continue;
    // A PS node without a directory makes one of its own and deletes it at its end.
    const std::string text =
        field.name == "row_dir" ? settings.row_directory() : field.get(settings);
    if (!text.empty()) flags.push_back(fmt::format("--{}={}", field.name, text));
  }
  return flags;
}

}  // namespace rowhouse
