#include "launch/plan/plan_mode.h"

#include <utility>
#include <vector>

namespace rowhouse {
namespace {

std::vector<PlanMode>& Modes() {
  static std::vector<PlanMode> modes;
  return modes;
}

bool IsAskedFor(const PlanMode& mode, const CommandLine& command_line) {
  const std::string value = command_line.Value(mode.flag);
  return !value.empty() && value != "false";
}

}  // namespace

bool AddPlanMode(PlanMode mode) {
  Modes().push_back(std::move(mode));
  return true;
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
  return found;
}

}  // namespace rowhouse
