// `rowhouse bench calibrate`: measures this machine and writes its calibration.
#include <omp.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/durable_file.h"
#include "common/json_text.h"
#include "common/output_path.h"
#include "launch/bench/bench_command.h"
#include "launch/bench/child_run.h"
#include "launch/bench/stop_signal.h"
#include "launch/calibrate/calibration.h"
#include "launch/calibrate/reference_runs.h"
#include "launch/calibrate/stopwatch.h"
#include "launch/command_line/verb_flags.h"
#include "launch/figures/json_output.h"
#include "launch/prediction/machine_of_run.h"

namespace rowhouse {
namespace {

REGISTER_MEMBER(AddVerbFlag({.name = kOnlyFlag,
                             .verbs = kBench,
                             .help = "With kernels: only those whose name begins so"}) &&
                AddBenchOption(kOnlyFlag, "kernels"));

// Of a command that measures: progress lines, order on Ctrl-C.
class Session {
 public:
  explicit Session(std::FILE* progress) : progress_(progress) {
    omp_set_num_threads(1);  // A worker's products by default; the model says what more give.
    // Stores say what they did.
    FLAGS_minloglevel = std::max(FLAGS_minloglevel, google::GLOG_WARNING);
  }

  Status Say(const std::string& what) const {
    fmt::print(progress_, "{:>4.0f} s  {}\n", seconds(), what);
    std::fflush(progress_);
    return StopSignal::Check();
  }
  Result<Calibration> Measure(CalibrationOptions options) const {
    options.on_kernel = [&](const std::string& kernel, int pass, double done) {
      const std::string what = kernel + (pass > 0 ? ", again" : "");
      // What comes after the kernels takes about as long as the last tenth of all.
      constexpr double kPartOfKernels = 0.9, kKnown = 0.02;
      const double part = kPartOfKernels * done;
      if (part < kKnown) return Say(what);
      return Say(fmt::format("{}; about {:.0f} s left", what, seconds() * (1 / part - 1)));
    };
    return Calibrate(options);
  }
  double seconds() const { return stopwatch_.Ns() / 1e9; }

 private:
  std::FILE* const progress_;
  const StopSignal stop_signal_;
  const Stopwatch stopwatch_;
};

// How a step differs from its kernels; without mpirun, and beside other work, which steps suffer
// from most, the model's own factors stay.
Status MeasureSteps(const Session& session, Calibration* calibration) {
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

std::FILE* ProgressBeside(const std::string& json) {
  return json == kJsonToStdout ? stderr : stdout;
}

Status RunCalibrate(const CommandLine& command_line, const Settings& settings) {
  ASSIGN_OR_RETURN(const std::string path, CalibrationFileToWrite(settings.sharding.calibration));
  const std::string json = command_line.Value(kJsonFlag);
  const Session session(ProgressBeside(json));
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
  RETURN_IF_ERROR(
      DeliverFigures(json, DumpJson(calibration.machine.ToJson(), 1) + "\n",
                     fmt::format("\n{}\nwritten to {} after {:.0f} s\n",
                                 CalibrationText(calibration), path, session.seconds())));
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
  for (const std::string& name : MeasuredKernels().Names()) {
    ASSIGN_OR_RETURN(const auto kernel, MeasuredKernels().Make(name, {}));
    const bool is_wanted = only.empty() ? !kernel->judged_as().empty() : name.starts_with(only);
    if (is_wanted) options.only.push_back(name);
  }
  if (options.only.empty()) return UsageError("--only={}: no kernel's name begins so", only);
  const Session session(ProgressBeside(json));
  ASSIGN_OR_RETURN(const Calibration calibration, session.Measure(options));
  RETURN_IF_ERROR(calibration.cut_off);
  if (calibration.judged.empty()) {
    return DeliverFigures(json, DumpJson(calibration.machine.ToJson(), 1) + "\n",
                          "\n" + CalibrationText(calibration));
  }
  return DeliverFigures(json, DumpJson(JudgementToJson(calibration.judged), 1) + "\n",
                        "\n" + JudgementText(calibration.judged));
}

REGISTER_MEMBER(AddBenchCommand(
    {.name = "calibrate",
     .note = {"this machine's constants and kernels, for plan's predictions", "2 minutes"},
     .run = &RunCalibrate}));
REGISTER_MEMBER(AddBenchCommand(
    {.name = "kernels",
     .note = {"tables of kernels, judged at their own and at other sizes", "3 minutes"},
     .run = &RunKernels}));

}  // namespace
}  // namespace rowhouse
