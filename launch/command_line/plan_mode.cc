#include "launch/command_line/plan_mode.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "launch/command_line/verb_flags.h"
#include "launch/settings/setting_fields.h"

namespace rowhouse {
namespace {

// What RunPlan can be asked for without modes.
constexpr std::string_view kOfRunPlan[] = {kSizesFlag, kCountIdsFlag, kEmbeddingsPerFeatFlag,
                                           kMeasuredFlag};

std::vector<PlanMode>& Modes() {
  static std::vector<PlanMode> modes;
  return modes;
}

// Modes by the flags that only they read.
std::map<std::string, std::vector<std::string>>& Options() {
  static std::map<std::string, std::vector<std::string>> options;
  return options;
}

bool IsAskedFor(const PlanMode& mode, const CommandLine& command_line) {
  const std::string value = command_line.Value(mode.flag);
  return !value.empty() && value != "false";
}

// Flags of a run, beside a mode that reads none of it.
Status CheckNoRun(const PlanMode& mode, const CommandLine& command_line) {
  constexpr std::string_view kOfAllModes[] = {kJsonFlag, "html", "reports"};
  for (const GivenFlag& given : command_line.flags) {
    const bool is_of_run = FindSettingField(given.name) != nullptr ||
                           FindVerbFlag(given.name, command_line.verb) != nullptr;
    if (!is_of_run || given.name == mode.flag || std::ranges::count(kOfAllModes, given.name) > 0 ||
        Options().contains(given.name)) {
      continue;
    }
    return UsageError("{} has no effect on --{}, which reads a file and no run; leave it out",
                      given.Describe(), mode.flag);
  }
  return OkStatus();
}

// What RunPlan would do, which no mode does as well.
Status CheckBesideMode(const PlanMode& mode, const CommandLine& command_line) {
  for (const std::string_view other : kOfRunPlan) {
    const std::string value = command_line.Value(other);
    if (value.empty() || value == "false") continue;
    return UsageError("--{} and --{} ask for different things; ask for one at a time", mode.flag,
                      other);
  }
  if (Options().contains(mode.flag)) return OkStatus();  // it says itself what it is for
  for (const GivenFlag& given : command_line.flags) {
    const auto option = Options().find(given.name);
    if (option == Options().end() || given.value == "false") continue;
    if (std::ranges::count(option->second, mode.flag) > 0) continue;
    return UsageError("{} is for --{} and has no effect on --{}; leave it out", given.Describe(),
                      fmt::join(option->second, " and --"), mode.flag);
  }
  if (!mode.reads_run) return CheckNoRun(mode, command_line);
  const std::string counts = command_line.Value("access_counts");
  if (!counts.empty() && !command_line.Value(kTraceFlag).empty()) {
    return UsageError(
        "--access_counts={} has no effect beside --trace, whose lookups are counted; leave one out",
        counts);
  }
  const std::string most = command_line.Value(kMaxSamplesFlag);
  if (!most.empty() && command_line.Value(kTraceFlag).empty()) {
    return UsageError("--max_samples={} is for a trace; say --trace=FILE as well", most);
  }
  return OkStatus();
}

// Flags of the sharding lab, where nothing is asked of it.
Status CheckWithoutMode(const CommandLine& command_line) {
  const bool has_plan = !command_line.Value("plan").empty();  // which the planner may make
  for (const GivenFlag& given : command_line.flags) {
    const VerbFlag* const flag = FindVerbFlag(given.name, command_line.verb);
    if (flag == nullptr || flag->section != kLabSection || given.value == "false") continue;
    const bool is_of_modes =
        given.name == "html" || given.name == "reports" || Options().contains(given.name);
    if (has_plan && !is_of_modes) continue;
    if (const auto option = Options().find(given.name); option != Options().end()) {
      return UsageError("{} is for --{}, which is not asked for; leave it out, or ask for that",
                        given.Describe(), fmt::join(option->second, " and --"));
    }
    if (given.value.empty()) return UsageError("{} names nothing", given.Describe());
    return UsageError(
        "{} is for predictions, and nothing is to be predicted; say --strategies=all as well, or "
        "another flag of the sharding lab (rowhouse plan --help)",
        given.Describe());
  }
  return OkStatus();
}

}  // namespace

bool AddPlanMode(PlanMode mode) {
  // By name: the linker decides which mode comes first.
  const auto place = std::ranges::upper_bound(Modes(), mode.flag, {}, &PlanMode::flag);
  Modes().insert(place, std::move(mode));
  return true;
}

bool AddPlanOption(std::string flag, std::vector<std::string> modes) {
  return Options().emplace(std::move(flag), std::move(modes)).second;
}

std::vector<std::string> PlanTopics() {
  std::vector<std::string> topics(std::begin(kOfRunPlan), std::end(kOfRunPlan));
  for (const PlanMode& mode : Modes()) {  // by name
    if (!Options().contains(mode.flag)) topics.push_back(mode.flag);
  }
  return topics;
}

std::vector<std::string> TopicsOfOption(const std::string& flag) {
  const auto option = Options().find(flag);
  return option == Options().end() ? std::vector<std::string>() : option->second;
}

Result<const PlanMode*> PlanModeOf(const CommandLine& command_line) {
  const PlanMode* found = nullptr;
  for (const PlanMode& mode : Modes()) {
    if (!IsAskedFor(mode, command_line)) continue;
    if (found != nullptr && found->precedence == mode.precedence) {
      return UsageError("--{} and --{} ask for different things; ask for one at a time",
                        found->flag, mode.flag);
    }
    if (found == nullptr || mode.precedence > found->precedence) found = &mode;
  }
  RETURN_IF_ERROR(found != nullptr ? CheckBesideMode(*found, command_line)
                                   : CheckWithoutMode(command_line));
  return found;
}

}  // namespace rowhouse
