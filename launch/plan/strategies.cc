// rowhouse plan --strategies: every way to place a run's tables beside the others, the fastest
// first, by prediction.
#include <nlohmann/json.hpp>

#include "common/json_text.h"
#include "launch/command_line/plan_mode.h"
#include "launch/command_line/verb_flags.h"
#include "launch/figures/json_output.h"
#include "launch/plan/candidates_report.h"
#include "launch/plan/lab_page.h"

namespace rowhouse {
namespace {

REGISTER_MEMBER(AddVerbFlag(
    {.name = kStrategiesFlag,
     .verbs = kPlan,
     .help = "Prints what a step would cost with each of these plans, what bounds it, where the "
             "best one puts the tables and what would help most. all; or names of strategies, "
             "joined by commas, with +bags if shards are to pool, files of plans (NAME.json), and "
             "auto, "
             "the planner's own",
     .section = kLabSection}));

Status NoneCanBe(const CommandLine& command_line, std::span<const CandidatePlan> candidates) {
  std::string refused = RefusedText(candidates);
  while (refused.ends_with('\n')) refused.pop_back();
  return UsageError("--strategies={}: none of these plans can be:\n{}",
                    command_line.Value(kStrategiesFlag), refused);
}

Status RunStrategies(const CommandLine& command_line, const Settings& settings) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names,
                   CandidateNames(command_line.Value(kStrategiesFlag)));
  RETURN_IF_ERROR(CheckLabPage(command_line));
  if (const std::string out = command_line.Value(kOutFlag); !out.empty()) {
    return UsageError("--out={} is for one plan; say --plan=auto or --strategy=NAME", out);
  }
  ASSIGN_OR_RETURN(const LabRun run, LabRunOf(command_line, settings));
  ASSIGN_OR_RETURN(const std::vector<CandidatePlan> candidates, MakeCandidates(run, names));
  const CandidatePlan* const best = BestOf(candidates);
  if (best == nullptr) return NoneCanBe(command_line, candidates);
  ASSIGN_OR_RETURN(const std::vector<Gain> gains,
                   GainsOf(run, *ConfiguredOf(candidates), candidates));
  const nlohmann::ordered_json json = CandidatesToJson(run, candidates, gains);
  RETURN_IF_ERROR(DeliverFigures(command_line.Value(kJsonFlag), DumpJson(json, 2) + "\n",
                                 CandidatesText(run, candidates, gains)));
  return WriteCandidatesPage(command_line, run, candidates, json);
}

REGISTER_MEMBER(AddPlanMode({.flag = std::string(kStrategiesFlag), .run = RunStrategies}));

}  // namespace
}  // namespace rowhouse
