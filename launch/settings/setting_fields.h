// SettingField: one setting by name, as flags and YAML keys know it: how text becomes its value
// and back, where it is shown, and whether it decides the trained bits. The table of all of them
// is what flags, YAML, --help, --print_config, report.json and the config digest share, so a new
// setting is one entry here, one DEFINE in launch/settings/flags.cc and one member in
// launch/settings/settings.h.
//
// Threads: read-only after the first call.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "launch/settings/settings.h"

namespace rowhouse {

// Sections of the YAML file and of --help, in this order. Settings of kCommandLine are acts of
// one run (--load) and of kServer belong to `rowhouse ps`: no YAML file has them.
enum class Section { kModel, kData, kTraining, kStorage, kCluster, kOutput, kCommandLine, kServer };

// "model", "data", ... as the YAML file has it.
std::string_view SectionName(Section section);

enum class SettingKind { kBool, kNumber, kText, kNumberList, kTextList };

struct SettingField {
  std::string name;  // of the flag and of the YAML key
  Section section = Section::kModel;
  SettingKind kind = SettingKind::kText;
  bool is_part_of_digest = false;
  std::string expected;  // "a whole number of 1 or more"

  // kUsage with the rest of a sentence ("expected a whole number of 1 or more"); the caller says
  // which flag or key, and where.
  std::function<Status(const std::string& text, Settings& settings)> set = {};
  std::function<std::string(const Settings& settings)> get = {};  // what `set` takes
};

std::span<const SettingField> SettingFields();

// Null if there is none. Other names DLRM has for one of ours (raw_data_file) are found as well.
const SettingField* FindSettingField(std::string_view name);

// Names of one section, in the order of the table.
std::vector<std::string> SettingNames(Section section);

}  // namespace rowhouse
