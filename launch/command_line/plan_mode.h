// Modes of `rowhouse plan`: what it does when a certain flag is given, one file each, which
// registers itself (launch/plan, launch/lab, ...). Without such a flag RunPlan decides
// (launch/plan/plan.h).
//
// Threads: read-only after main begins.
#pragma once

#include <string>
#include <vector>

#include "common/registry.h"
#include "common/status.h"
#include "launch/command_line/command_line.h"
#include "launch/settings/settings.h"

namespace rowhouse {

struct PlanMode {
  std::string flag;         // that asks for it: "op_trace"; a flag of the verb (verb_flags.h)
  bool reads_data = false;  // whether Settings::Validate checks the run's data
  Status (*run)(const CommandLine& command_line, const Settings& settings) = nullptr;
  // Of two flags that are given, the one with the higher precedence is the mode and the other one
  // an option of it (--trace beside --what_if). Equal: kUsage.
  int precedence = 0;
  // Whether settings and flags of the cluster change what it says. Else they are refused.
  bool reads_run = true;
};

// Registers a mode, at namespace scope.
bool AddPlanMode(PlanMode mode);

// Registers, at namespace scope, a flag that only these modes read: PlanModeOf refuses it
// elsewhere.
bool AddPlanOption(std::string flag, std::vector<std::string> modes);

// The flags that ask for something of `rowhouse plan`: those of RunPlan, then of modes, by name.
std::vector<std::string> PlanTopics();
// Of AddPlanOption; none for other flags.
std::vector<std::string> TopicsOfOption(const std::string& flag);

// The mode that the command line asks for, or null. kUsage, naming both flags, if it asks for two
// modes, or for a mode and for something that RunPlan does without one. kUsage, too, for a flag
// without effect: an AddPlanOption flag of another mode, or a flag of the sharding lab without a
// mode. With --plan, which the planner may make, lab flags are accepted unless only modes read
// them.
Result<const PlanMode*> PlanModeOf(const CommandLine& command_line);

}  // namespace rowhouse
