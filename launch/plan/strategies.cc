// rowhouse plan --strategies: every way to place a run's tables beside the others, the fastest
// first, by prediction.
#include "launch/command_line/plan_mode.h"
#include "launch/command_line/verb_flags.h"
#include "launch/plan/candidates_report.h"
#include "launch/plan/lab_page.h"
#include "launch/prediction/lab_run.h"

namespace rowhouse {
namespace {

REGISTER_MEMBER(AddLabFlag(
    kStrategiesFlag,
    "Prints what a step would cost with each of these plans, what bounds it, where the "
    "best one puts the tables and what would help most. all; or names of strategies, "
    "joined by commas, with +bags if shards are to pool, files of plans (NAME.json), and "
    "auto, "
    "the planner's own"));

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
  const CandidatePlan& configured = *ConfiguredOf(candidates);
  ASSIGN_OR_RETURN(const std::vector<Saving> savings, SavingsOf(run, configured, candidates));
  Figures figures = CandidateFigures(run, candidates, savings);
  if (!command_line.Value(kHtmlFlag).empty()) {
    // A plan with all rows on the workers leaves PS nodes nothing to do.
    const CandidatePlan& loaded = best->load.max > 0 ? *best : configured;
    if (loaded.load.max > 0) {
      ASSIGN_OR_RETURN(figures.page["loads"], LoadsByTable(run, loaded));
    }
    figures.page["curves"] = {MissRatioCurves(run, *best)};
  }
  return DeliverLabFigures(command_line, figures);
}

REGISTER_MEMBER(AddPlanMode({.flag = std::string(kStrategiesFlag), .run = RunStrategies}));

}  // namespace
}  // namespace rowhouse
