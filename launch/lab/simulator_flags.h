// The flags of `rowhouse plan` that say how to simulate. Threads: pure.
#pragma once

#include "common/status.h"
#include "launch/command_line/command_line.h"
#include "sharding/lab/simulator/simulator.h"

namespace rowhouse {

// --simulated_steps, --simulation_seed and --jitter; for those that are not given, those of
// `defaults`. kUsage, naming the flag, for a value out of range.
Result<SimulatorOptions> SimulatorOptionsOf(const CommandLine& command_line,
                                            SimulatorOptions defaults = {});

// "100 steps, seed 1, jitter 5 %".
std::string SimulatorOptionsText(const SimulatorOptions& options);

}  // namespace rowhouse
