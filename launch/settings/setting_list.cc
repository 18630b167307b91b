#include "launch/settings/setting_list.h"

#include <glog/logging.h>

#include <array>

namespace rowhouse {
namespace {

// By section. What a PS node learns from the workers' HELLO is no flag of `ps`.
constexpr std::array<VerbSet, 8> kVerbsOfSection = {
    kTrain | kPlan,                             // model
    kTrain | kPlan | kData | kPredict | kEval,  // data
    kTrain | kPlan,                             // training
    kTrain | kPs | kPlan,                       // storage
    kTrain | kPlan,                             // cluster
    kTrain,                                     // output
    kTrain,                                     // acts of one run
    kPs,                                        // server
};

std::array<std::vector<AddSettings>, 8>& AllEntries() {
  static std::array<std::vector<AddSettings>, 8> entries;
  return entries;
}

}  // namespace

void SettingList::Add(SettingField value, Entry entry) {
  value.name = entry.name.empty() ? value.member.substr(value.member.rfind('.') + 1) : entry.name;
  value.aliases = std::move(entry.aliases);
  value.section = section_;
  value.verbs =
      entry.verbs == kNoVerb ? kVerbsOfSection.at(static_cast<size_t>(section_)) : entry.verbs;
  value.is_part_of_digest = entry.digest != Digest::kOut;
  value.is_of_run = entry.digest == Digest::kOfRun;
  value.is_basic = entry.is_basic;
  value.help = std::move(entry.help);
  if (!entry.unit.empty()) value.help += fmt::format("; {}", entry.unit);
  if (entry.then) {
    value.set = [set = value.set, then = entry.then](const std::string& text, Settings& settings) {
      RETURN_IF_ERROR(set(text, settings));
      then(settings);
      return OkStatus();
    };
  }
  fields_.push_back(std::move(value));
}

SettingField Declared(const DeclaredOption& option, PickOptions pick, const std::string& path) {
  SettingField field{MakeKey(option, pick)};
  field.member = fmt::format("{}[{}]", path, option.name());
  return field;
}

Entry EntryOf(const DeclaredOption& option, const std::vector<std::string>& takers,
              const std::string& prefix) {
  return {.name = prefix + option.name(),
          .help = fmt::format("With {}: {}", fmt::join(takers, ", "), option.help()),
          .digest = Digest::kIn};
}

bool RegisterSettings(Section section, std::vector<AddSettings> functions) {
  std::vector<AddSettings>& entries = AllEntries().at(static_cast<size_t>(section));
  CHECK(entries.empty()) << "settings of section " << static_cast<int>(section)
                         << " are registered twice";
  entries = std::move(functions);
  return true;
}

const std::vector<AddSettings>& SettingEntries(Section section) {
  return AllEntries().at(static_cast<size_t>(section));
}

}  // namespace rowhouse
