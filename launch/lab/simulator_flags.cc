#include "launch/lab/simulator_flags.h"

#include <cmath>

#include "common/counted.h"
#include "common/read_value.h"
#include "launch/lab/whole_flag.h"
#include "launch/plan/plan_mode.h"
#include "launch/settings/verb_flags.h"

namespace rowhouse {
namespace {

REGISTER_MEMBER(
    AddVerbFlag({.name = "simulated_steps",
                 .verbs = kPlan,
                 .help = "Steps of --simulate (100) and of each run of --scaling (20)",
                 .section = kLabSection}) &&
    AddVerbFlag({.name = "simulation_seed",
                 .verbs = kPlan,
                 .help = "Seed of a simulation: equal seeds, equal results",
                 .default_text = "1",
                 .section = kLabSection}) &&
    AddVerbFlag({.name = "jitter",
                 .verbs = kPlan,
                 .help = "Standard deviation of the time of a phase in a simulation, as a share of "
                         "it",
                 .default_text = "0.05",
                 .section = kLabSection}) &&
    AddVerbFlag({.name = "stragglers",
                 .verbs = kPlan,
                 .help = "SHARE,FACTOR: this share of the ranks of a simulation is slower by this "
                         "factor, at least one rank; \"0.01,2\"",
                 .section = kLabSection}) &&
    AddVerbFlag({.name = "staleness",
                 .verbs = kPlan,
                 .help = "Steps that a worker of a simulation may be ahead of the slowest; 0: "
                         "synchronous, as rowhouse trains",
                 .default_text = "0",
                 .section = kLabSection}) &&
    AddVerbFlag({.name = "overlap",
                 .verbs = kPlan,
                 .help = "In a simulation the pull of the next step runs beside this step's "
                         "compute, and sees one step less; rowhouse does not train so",
                 .is_switch = true,
                 .section = kLabSection}));

const bool kAreOptions = [] {
  for (const char* const flag :
       {"simulated_steps", "simulation_seed", "jitter", "stragglers", "staleness", "overlap"}) {
    AddPlanOption(flag, {"simulate", "scaling"});
  }
  return true;
}();

Status ReadStragglers(const std::string& text, SimulatorOptions* options) {
  const size_t comma = text.find(',');
  const auto share = ReadReal(text.substr(0, comma));
  const auto factor = comma == std::string::npos ? std::nullopt : ReadReal(text.substr(comma + 1));
  if (!share || !factor || !(*share > 0 && *share <= 1) || !(*factor >= 1 && *factor <= 1000)) {
    return UsageError(
        "--stragglers={}: expected SHARE,FACTOR, a share of the ranks from 0 to 1 and by how much "
        "they are slower, 1 to 1000; \"0.01,2\" makes 1 % of them take twice as long",
        text);
  }
  options->straggler_share = *share;
  options->straggler_factor = *factor;
  return OkStatus();
}

}  // namespace

Result<SimulatorOptions> SimulatorOptionsOf(const CommandLine& command_line,
                                            SimulatorOptions options) {
  if (const std::string out = command_line.Value(kOutFlag); !out.empty()) {
    return UsageError("--out={}: a simulation makes no plan; say --json=FILE for its figures", out);
  }
  ASSIGN_OR_RETURN(options.steps,
                   WholeFlag(command_line, "simulated_steps", options.steps, 1, 1'000'000));
  ASSIGN_OR_RETURN(options.seed,
                   WholeFlag(command_line, "simulation_seed", options.seed, 0, UINT64_MAX));
  ASSIGN_OR_RETURN(const uint64_t staleness,
                   WholeFlag(command_line, "staleness", options.staleness, 0, 1000));
  options.staleness = static_cast<uint32_t>(staleness);
  if (const std::string text = command_line.Value("jitter"); !text.empty()) {
    const auto jitter = ReadReal(text);
    if (!jitter || !(*jitter >= 0 && *jitter <= 2)) {
      return UsageError("--jitter={}: expected a share of the time of a phase, 0 to 2", text);
    }
    options.jitter = *jitter;
  }
  if (const std::string text = command_line.Value("stragglers"); !text.empty()) {
    RETURN_IF_ERROR(ReadStragglers(text, &options));
  }
  options.overlaps = options.overlaps || command_line.Value("overlap") == "true";
  return options;
}

std::string SimulatorOptionsText(const SimulatorOptions& options) {
  std::string text = fmt::format("{}, seed {}, jitter {:g} %", Counted(options.steps, "step"),
                                 options.seed, 100 * options.jitter);
  if (options.straggler_share > 0) {
    text += fmt::format(", {:g} % of the ranks slower by {:g}", 100 * options.straggler_share,
                        options.straggler_factor);
  }
  text += options.staleness == 0
              ? ", synchronous"
              : fmt::format(", workers at most {} apart", Counted(options.staleness, "step"));
  if (options.overlaps) text += ", pulls beside compute";
  return text;
}

}  // namespace rowhouse
