#include "launch/run/notices.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "launch/command_line/verb_flags.h"
#include "launch/settings/setting_fields.h"

namespace rowhouse {
bool IsModelGiven(const CommandLine& command_line) {
  return std::ranges::any_of(command_line.flags, [](const GivenFlag& flag) {
    const SettingField* field = FindSettingField(flag.name);
    return flag.name == kConfigFlag || (field != nullptr && field->section == Section::kModel);
  });
}

std::vector<std::string> NoticesOf(const CommandLine& command_line, const Settings& settings) {
  std::vector<std::string> notices;
  if (!IsModelGiven(command_line) && settings.data.file.empty()) {
    std::vector<uint64_t> rows;
    for (const LogicalTable& table : settings.tables) rows.push_back(table.rows);
    notices.push_back(
        fmt::format("no model was given, so this trains DLRM's toy: {} tables of {} rows, {} data. "
                    "For a model of your own say --config=FILE (configs/quickstart.yaml is one), "
                    "or give its shape by flags (rowhouse train --help, section model)",
                    rows.size(), fmt::join(rows, ", "), settings.data_generation));
  }
  if (!command_line.ignored.empty()) {
    notices.push_back(fmt::format("ignored, because in Rowhouse they change no result: {}",
                                  fmt::join(command_line.ignored, ", ")));
  }
  if (settings.are_tables_counted) {
    notices.push_back(fmt::format(
        "no table sizes were given: tables have a row for each token of their column of {}{}",
        settings.data.file,
        FlagText(settings.data, "id_mapping") == "dictionary"
            ? ""
            : "; --id_mapping=dictionary keeps tokens apart, as DLRM does"));
  }
  if (settings.training.test_freq > 0) {
    const std::string why = WhyUntested(settings.data_source(), settings.data);
    if (!why.empty()) {
      notices.push_back(
          fmt::format("--test_freq={} tests nothing: {}", settings.training.test_freq, why));
    }
  }
  return notices;
}

}  // namespace rowhouse
