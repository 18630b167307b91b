// The machine that a prediction is for: measured on a host, from its calibration file, or a typical
// one.
//
// Threads: pure, but for reading files.
#pragma once

#include <string>
#include <vector>

#include "sharding/lab/cost/machine.h"

namespace rowhouse {

struct CalibratedMachine {
  Machine machine;
  std::string path;     // of the file; "": Machine::Typical()
  std::string warning;  // one sentence: not calibrated, of another host, other CPU; "": none
  // All of it was measured on this host as it is now: its times may decide, others only propose.
  bool is_measured_here = false;
};
// `path` (settings.sharding.calibration), or if it is "" this host's file in the user's cache
// folder, or else typical figures, with this host's cores and memory and a warning. kUsage for a
// file that is named and cannot be read; a file that is not named and cannot be read is a warning.
// "typical": Machine::Typical(), without a warning. All have WithTypicalInStep. Typical figures
// stand in for kernels that are missing because the calibration was cut off, have other sizes than
// this program's, or whose samples differ too much (kRefusedSpread).
Result<CalibratedMachine> MachineOf(const std::string& path);

// The machine, with typical factors where it lacks a constant "in_step_..." (InStep): phases take
// longer in a step than their kernels, and calibration measures only the factors of phases.
Machine WithTypicalInStep(Machine machine);

// $XDG_CACHE_HOME/rowhouse/calibration-<host>.json, or ~/.cache/...
std::string CalibrationPathOf(const std::string& host);

// Host name, CPU, cores and memory of this host.
void DescribeHost(Machine* machine);

// Samples that are spread by more were measured beside other work.
inline constexpr double kBusySpread = 0.5;
// Times of a kernel whose samples are spread by more are not used.
inline constexpr double kRefusedSpread = 1.0;
// The names of kernels whose samples are spread by more than that.
std::vector<std::string> KernelsSpreadBeyond(const Machine& machine, double spread);

}  // namespace rowhouse
