// rowhouse plan --simulate: the run as a simulation of it, step time and each rank.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/json_text.h"
#include "launch/lab/candidate_plans.h"
#include "launch/lab/lab_page.h"
#include "launch/lab/lab_run.h"
#include "launch/lab/measured_beside.h"
#include "launch/lab/simulation_report.h"
#include "launch/lab/simulator_flags.h"
#include "launch/plan/plan_mode.h"
#include "launch/report/json_output.h"
#include "launch/settings/verb_flags.h"

namespace rowhouse {
namespace {

constexpr std::string_view kSimulateFlag = "simulate";

REGISTER_MEMBER(AddVerbFlag(
    {.name = kSimulateFlag,
     .verbs = kPlan,
     .help = "Simulates the run on a cluster of --ps PS nodes, --workers and --hosts: prints step "
             "time, and load, bytes and queues of each rank, with queues and waiting, which a sum "
             "of phases has not",
     .is_switch = true,
     .section = kLabSection}));

// For --html, as lab_page.h says.
nlohmann::ordered_json SimulationPage(const SimulatedRun& simulated) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  const auto add = [&](const char* name, size_t number, const SimulatedRank& rank) {
    rows.push_back(
        {fmt::format("{} {}", name, number), fmt::format("{:.0f}", rank.load),
         fmt::format("{:.3f}", rank.bytes / 1e6), fmt::format("{:.1f} %", 100 * rank.busy_share),
         fmt::format("{:.0f}", rank.longest_queue), fmt::format("{:.3f}", rank.mean_wait_ms)});
  };
  for (size_t p = 0; p < simulated.ps.size(); ++p) add("PS node", p, simulated.ps[p]);
  for (size_t w = 0; w < simulated.workers.size(); ++w) add("worker", w, simulated.workers[w]);
  nlohmann::ordered_json columns = nlohmann::ordered_json::array();
  for (const char* const name :
       {"rank", "rows a step", "MB a step", "busy", "longest queue", "mean wait, ms"}) {
    columns.push_back({{"name", name}, {"number", columns.empty() ? false : true}});
  }
  return {{"title", "Simulated run"},
          {"subtitle", fmt::format("{:.3f} ms a step at the median, {:.0f} samples a second",
                                   simulated.median_step_ms, simulated.samples_per_second)},
          {"grids", {{{"title", "Ranks"}, {"note", ""}, {"columns", columns}, {"rows", rows}}}}};
}

Status RunSimulate(const CommandLine& command_line, const Settings& settings) {
  ASSIGN_OR_RETURN(const SimulatorOptions options, SimulatorOptionsOf(command_line));
  ASSIGN_OR_RETURN(const LabRun run, LabRunOf(command_line, settings));
  ASSIGN_OR_RETURN(const CandidatePlan plan, MakeCandidate(run, ConfiguredName(settings)));
  if (!plan.refused.empty()) return UsageError("{}", plan.refused);
  ASSIGN_OR_RETURN(const SimulatedRun simulated,
                   Simulate(run.workload, plan.plan, run.cluster, run.machine.machine, options));
  nlohmann::ordered_json json = SimulationToJson(run, options, plan.cost, simulated);
  std::string text = SimulationText(run, options, plan.cost, simulated);
  if (const std::string reports = command_line.Value("reports"); !reports.empty()) {
    ASSIGN_OR_RETURN(const MeasuredRun measured,
                     ReadMeasuredRun(reports, run.cluster, run.settings.tables));
    json["beside"] = BesideToJson(simulated, measured);
    text += BesideText(simulated, measured);
  }
  RETURN_IF_ERROR(DeliverFigures(command_line.Value(kJsonFlag), DumpJson(json, 2) + "\n", text));
  if (command_line.Value("html").empty()) return OkStatus();  // --reports is for the text, too
  return WriteLabPage(command_line, SimulationPage(simulated));
}

REGISTER_MEMBER(AddPlanMode({.flag = std::string(kSimulateFlag), .run = RunSimulate}));

}  // namespace
}  // namespace rowhouse
