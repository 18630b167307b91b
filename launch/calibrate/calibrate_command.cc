// `rowhouse bench calibrate`: measures this machine and writes its calibration.
#include "common/durable_file.h"
#include "common/json_text.h"
#include "common/output_path.h"
#include "launch/bench/bench.h"
#include "launch/bench/child_run.h"
#include "launch/bench/stop_signal.h"
#include "launch/calibrate/calibration.h"
#include "launch/calibrate/measured_kernel.h"
#include "launch/calibrate/trained_config.h"
#include "launch/command_line/verb_flags.h"
#include "launch/prediction/machine_of_run.h"

namespace rowhouse {
namespace {

constexpr const char* kOnlyFlag = "only";

REGISTER_MEMBER(AddVerbFlag(
    {.name = kOnlyFlag, .verbs = kBench, .help = "With kernels: only those whose name begins so"}));

// How a step differs from its kernels; without mpirun, and beside other work, which steps suffer
// from most, the model's own factors stay.
Status MeasureSteps(const MeasuringSession& session, Calibration* calibration) {
  const Machine& machine = calibration->machine;
  if (2 * KernelsSpreadBeyond(machine, kBusySpread).size() > machine.kernels.size()) {
    calibration->unavailable.push_back("reference runs: other work was going on");
    return OkStatus();
  }
  if (const Status script = MpirunScript().status(); !script.ok()) {
    calibration->unavailable.push_back("reference runs: " + script.message());
    return OkStatus();
  }
  const Result<std::vector<ReferenceRun>> references =
      TrainReferences([&](const std::string& name) { return session.Say(name); });
  if (StopSignal::Check().ok()) {
    RETURN_IF_ERROR(references.status());
    return FitInStep(references.value(), &calibration->machine);
  }
  calibration->cut_off = StopSignal::Check();
  return OkStatus();
}

// Whole or not at all.
Status WriteMachine(const std::string& path, const Machine& machine) {
  return WriteOutput(path, DumpJson(machine.ToJson(), 1) + "\n").Annotate("--calibration=" + path);
}

// A calibration that was cut off keeps what an earlier one of this host measured.
void KeepEarlier(const std::string& path, Machine* machine) {
  const Result<std::string> text = ReadFile(path);
  if (!text.ok()) return;
  const Result<JsonText> json = ReadJsonText(text.value());
  if (!json.ok()) return;
  const Result<Machine> earlier = Machine::FromJson(json.value().value);
  if (!earlier.ok() || earlier.value().host != machine->host ||
      earlier.value().cpu != machine->cpu || earlier.value().cores != machine->cores) {
    return;
  }
  machine->kernels.insert(earlier.value().kernels.begin(), earlier.value().kernels.end());
  machine->constants.insert(earlier.value().constants.begin(), earlier.value().constants.end());
  if (machine->llc_bytes == 0) machine->llc_bytes = earlier.value().llc_bytes;
}

Status RunCalibrate(const CommandLine& command_line, const Settings& settings) {
  ASSIGN_OR_RETURN(const std::string path, CalibrationFileToWrite(settings.sharding.calibration));
  const std::string json = command_line.Value(kJsonFlag);
  const MeasuringSession session(json);
  const auto keep = [&path](Machine so_far) {
    KeepEarlier(path, &so_far);
    return WriteMachine(path, so_far);
  };
  ASSIGN_OR_RETURN(Calibration calibration, session.Measure({.on_measured = keep}));
  if (calibration.cut_off.ok()) {
    RETURN_IF_ERROR(keep(calibration.machine));
    RETURN_IF_ERROR(MeasureSteps(session, &calibration));
  }
  const Status& cut_off = calibration.cut_off;
  const size_t measured = calibration.machine.kernels.size();
  if (!cut_off.ok()) {
    if (measured == 0) return cut_off;
    KeepEarlier(path, &calibration.machine);
  }
  RETURN_IF_ERROR(WriteMachine(path, calibration.machine));
  Figures figures = CalibrationFigures(calibration);
  figures.Say("\nwritten to {} after {:.0f} s\n", path, session.seconds());
  RETURN_IF_ERROR(DeliverFigures(json, figures, /*indent=*/1));
  if (cut_off.ok()) return cut_off;
  return cut_off.Annotate(fmt::format(
      "{} kernels were measured and are kept in {}; figures of an earlier calibration or typical "
      "ones stand in for the others; rowhouse bench calibrate measures all",
      measured, path));
}

// Those that are judged, or those that were asked for: their tables, if none is judged.
Status RunKernels(const CommandLine& command_line, const Settings&) {
  const std::string json = command_line.Value(kJsonFlag);
  const std::string only = command_line.Value(kOnlyFlag);
  CalibrationOptions options{.judges = true};
  for (const auto& [name, kernel] : MeasuredKernels()) {
    const bool is_wanted = only.empty() ? !kernel.judged_as.empty() : name.starts_with(only);
    if (is_wanted) options.only.push_back(name);
  }
  if (options.only.empty()) return UsageError("--only={}: no kernel's name begins so", only);
  const MeasuringSession session(json);
  ASSIGN_OR_RETURN(const Calibration calibration, session.Measure(options));
  RETURN_IF_ERROR(calibration.cut_off);
  return DeliverFigures(json,
                        calibration.judged.empty() ? CalibrationFigures(calibration)
                                                   : JudgementFigures(calibration.judged),
                        /*indent=*/1);
}

REGISTER_MEMBER(AddBench({.name = "calibrate",
                          .what = "this machine's constants and kernels, for plan's predictions",
                          .time = "2 minutes",
                          .run = &RunCalibrate}) &&
                AddBench({.name = "kernels",
                          .what = "tables of kernels, judged at their own and at other sizes",
                          .time = "5 minutes",
                          .flags = {kOnlyFlag},
                          .run = &RunKernels}));

}  // namespace
}  // namespace rowhouse
