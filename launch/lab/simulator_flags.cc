#include "launch/lab/simulator_flags.h"

#include "common/counted.h"
#include "launch/command_line/plan_mode.h"
#include "launch/command_line/verb_flags.h"
#include "launch/prediction/lab_run.h"

namespace rowhouse {
namespace {

REGISTER_MEMBER(
    AddLabFlag("simulated_steps", "Steps of --simulate (100) and of each run of --scaling (20)") &&
    AddLabFlag("simulation_seed", "Seed of a simulation: equal seeds, equal results", "1") &&
    AddLabFlag("jitter",
               "Standard deviation of the time of a phase in a simulation, as a share of "
               "it",
               "0.05"));

const bool kAreOptions = [] {
  for (const char* const flag : {"simulated_steps", "simulation_seed", "jitter"}) {
    AddPlanOption(flag, {"simulate", "scaling"});
  }
  return true;
}();

}  // namespace

Result<SimulatorOptions> SimulatorOptionsOf(const CommandLine& command_line,
                                            SimulatorOptions options) {
  if (const std::string out = command_line.Value(kOutFlag); !out.empty()) {
    return UsageError("--out={}: a simulation makes no plan; say --json=FILE for its figures", out);
  }
  RETURN_IF_ERROR(ReadFlag(command_line, "simulated_steps", WholeValue<uint64_t>(1, 1'000'000),
                           &options.steps));
  RETURN_IF_ERROR(
      ReadFlag(command_line, "simulation_seed", WholeValue<uint64_t>(0), &options.seed));
  RETURN_IF_ERROR(ReadFlag(command_line, "jitter",
                           RealValue<double>("a share of the time of a phase, 0 to 2",
                                             [](double share) { return share >= 0 && share <= 2; }),
                           &options.jitter));
  return options;
}

std::string SimulatorOptionsText(const SimulatorOptions& options) {
  return fmt::format("{}, seed {}, jitter {:g} %", Counted(options.steps, "step"), options.seed,
                     100 * options.jitter);
}

}  // namespace rowhouse
