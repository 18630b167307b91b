#include "launch/settings/verb_flags.h"

#include <algorithm>

#include "launch/settings/command_line.h"
#include "launch/settings/dlrm_flags.h"
#include "launch/settings/flags.h"
#include "launch/settings/setting_fields.h"

namespace rowhouse {
namespace {

bool IsLogFlag(std::string_view flag) {
  const auto names = LogFlags();
  return std::find(names.begin(), names.end(), flag) != names.end();
}

// What a PS node learns from HELLO is no flag of `ps`.
bool IsSectionOf(std::string_view verb, Section section) {
  if (verb == "train") return section != Section::kServer;
  if (verb == "plan") return section <= Section::kCluster;
  if (verb != "ps") return false;
  return section == Section::kStorage || section == Section::kServer;
}

// What says where a saved model is and how its rows are read and compacted; not --store: what was
// saved lies in files, and a store in memory would show a model without rows.
bool IsOfCkpt(std::string_view flag) {
  return flag == "model_dir" || flag == "row_dir" || flag == "store_compression" ||
         flag == "direct_reads";
}

bool IsPlanFlag(std::string_view flag) {
  return std::find(kPlanFlags.begin(), kPlanFlags.end(), flag) != kPlanFlags.end();
}

bool IsAlsoOfPs(std::string_view flag) {
  return flag == "rpc_deadline_ms" || flag == "rendezvous_deadline_ms" ||
         flag == "stop_deadline_ms";
}

}  // namespace

bool IsKnownFlag(std::string_view flag) {
  return FindSettingField(flag) != nullptr || FindDlrmFlag(flag) != nullptr || IsLogFlag(flag) ||
         flag == kConfigFlag || flag == kPrintConfigFlag || flag == kJsonFlag ||
         flag == kTraceFlag || flag == kLongFlag || flag == kOutFlag || flag == kCsvFlag ||
         flag == kStrategiesFlag || IsPlanFlag(flag);
}

bool VerbHasFlag(std::string_view verb, std::string_view flag) {
  if (IsLogFlag(flag)) return true;
  if (flag == kPrintConfigFlag) return verb == "train" || verb == "ps";
  if (flag == kConfigFlag) return verb == "train" || verb == "ps" || verb == "plan";
  if (flag == kJsonFlag) return verb != "train" && verb != "ps";
  if (IsPlanFlag(flag)) return verb == "plan";
  if (flag == kTraceFlag || flag == kLongFlag) return verb == "bench";
  if (flag == kOutFlag) return verb == "compare" || verb == "plan";
  if (flag == kCsvFlag || flag == kStrategiesFlag) return verb == "compare";
  const SettingField* field = FindSettingField(flag);
  if (field == nullptr) return false;
  return IsSectionOf(verb, field->section) || (verb == "ps" && IsAlsoOfPs(field->name)) ||
         (verb == "ckpt" && IsOfCkpt(field->name));
}

bool HasOptionalValue(std::string_view flag) { return flag == kJsonFlag; }

std::string DescribeVerbsOfFlag(std::string_view flag) {
  std::string text;
  for (const Verb& verb : Verbs()) {
    if (VerbHasFlag(verb.name, flag)) text += (text.empty() ? "" : " and ") + verb.name;
  }
  return text;
}

std::vector<std::string> FlagsOfVerb(std::string_view verb) {
  std::vector<std::string> names = {"help",
                                    "version",
                                    "flagfile",
                                    std::string(kConfigFlag),
                                    std::string(kPrintConfigFlag),
                                    std::string(kJsonFlag),
                                    std::string(kTraceFlag),
                                    std::string(kOutFlag),
                                    std::string(kCsvFlag),
                                    std::string(kStrategiesFlag)};
  names.insert(names.end(), kPlanFlags.begin(), kPlanFlags.end());
  for (const SettingField& field : SettingFields()) names.push_back(field.name);
  for (const std::string& name : LogFlags()) names.push_back(name);
  std::erase_if(names, [&](const std::string& name) {
    return !verb.empty() && IsKnownFlag(name) && !VerbHasFlag(verb, name);
  });
  return names;
}

}  // namespace rowhouse
