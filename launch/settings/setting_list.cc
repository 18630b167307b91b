#include "launch/settings/setting_list.h"

#include <glog/logging.h>

#include <array>

namespace rowhouse {
namespace {

// What a PS node learns from the workers' HELLO is no flag of `ps`.
VerbSet VerbsOf(Section section) {
  switch (section) {
    case Section::kData:
      return kTrain | kPlan | kData | kPredict | kEval;
    case Section::kModel:
    case Section::kTraining:
    case Section::kCluster:
      return kTrain | kPlan;
    case Section::kStorage:
      return kTrain | kPs | kPlan;
    case Section::kOutput:
    case Section::kCommandLine:
      return kTrain;
    case Section::kServer:
      return kPs;
  }
  return kNoVerb;
}

std::array<std::vector<AddSettings>, 8>& AllEntries() {
  static std::array<std::vector<AddSettings>, 8> entries;
  return entries;
}

}  // namespace

SettingField Switch(Member<bool> member) {
  SettingField field{.kind = SettingKind::kBool,
                     .expected = "true or false",
                     .words = {"true", "false"},
                     .member = member.path};
  field.set = [member](const std::string& text, Settings& settings) {
    const auto value = ReadBool(text);
    if (!value) return Expected("true or false");
    member.Of(settings) = *value;
    return OkStatus();
  };
  field.get = [member](const Settings& settings) {
    return std::string(member.Of(settings) ? "true" : "false");
  };
  return field;
}

SettingField Text(Member<std::string> member, const std::string& what) {
  SettingField field{.kind = SettingKind::kText, .expected = what, .member = member.path};
  field.set = [member](const std::string& text, Settings& settings) {
    member.Of(settings) = text;
    return OkStatus();
  };
  field.get = [member](const Settings& settings) { return member.Of(settings); };
  return field;
}

SettingField Choice(Member<std::string> member, const std::vector<std::string>& words) {
  SettingField field = Text(member, fmt::format("one of {}", fmt::join(words, ", ")));
  field.words = words;
  field.set = [member, words, what = field.expected](const std::string& text, Settings& settings) {
    if (std::find(words.begin(), words.end(), text) != words.end()) {
      member.Of(settings) = text;
      return OkStatus();
    }
    const std::string nearest = NearestName(text, words);
    if (nearest.empty()) return Expected(what);
    return Expected(fmt::format("{}. Did you mean \"{}\"?", what, nearest));
  };
  return field;
}

SettingField Real(Member<double> member, const std::string& what, bool (*is_legal)(double value)) {
  SettingField field{.kind = SettingKind::kNumber, .expected = what, .member = member.path};
  field.set = [=](const std::string& text, Settings& settings) {
    const auto value = ReadReal(text);
    if (!value || !is_legal(*value)) return Expected(what);
    member.Of(settings) = *value;
    return OkStatus();
  };
  field.get = [member](const Settings& settings) { return fmt::format("{}", member.Of(settings)); };
  return field;
}

SettingField Mebibytes(Member<uint64_t> member, uint64_t low, uint64_t high) {
  SettingField field = Whole(member, low, high);
  field.expected += ", or a size such as 4GB";
  field.set = [=, what = field.expected](const std::string& text, Settings& settings) {
    const auto value = ReadSize(text, uint64_t{1} << 20);
    if (!value || *value < low || *value > high) return Expected(what);
    member.Of(settings) = *value;
    return OkStatus();
  };
  return field;
}

void SettingList::Add(SettingField value, Entry entry) {
  value.name = std::move(entry.name);
  value.aliases = std::move(entry.aliases);
  value.section = section_;
  value.verbs = entry.verbs == kNoVerb ? VerbsOf(section_) : entry.verbs;
  value.is_part_of_digest = entry.digest != Digest::kOut;
  value.is_of_run = entry.digest == Digest::kOfRun;
  value.is_basic = entry.is_basic;
  value.help = std::move(entry.help);
  if (!entry.unit.empty()) value.help += fmt::format("; {}", entry.unit);
  if (entry.then != nullptr) {
    value.set = [set = value.set, then = entry.then](const std::string& text, Settings& settings) {
      RETURN_IF_ERROR(set(text, settings));
      then(settings);
      return OkStatus();
    };
  }
  fields_.push_back(std::move(value));
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
