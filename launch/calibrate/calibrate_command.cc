// `rowhouse bench calibrate`: measures this machine and writes its calibration.
#include <omp.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "common/durable_file.h"
#include "launch/bench/bench_command.h"
#include "launch/bench/stop_signal.h"
#include "launch/calibrate/calibration.h"
#include "launch/calibrate/kernel_judgement.h"
#include "launch/calibrate/stopwatch.h"
#include "launch/hosts/host_facts.h"
#include "launch/lab/workload_of_run.h"
#include "launch/report/json_output.h"
#include "launch/settings/verb_flags.h"

namespace rowhouse {
namespace {

Result<std::string> FileToWrite(const Settings& settings) {
  const std::string given = settings.sharding.calibration;
  const std::string path = given.empty() ? CalibrationPathOf(HostName()) : given;
  const std::filesystem::path directory = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (given.empty()) std::filesystem::create_directories(directory, error);
  if (!directory.empty() && !std::filesystem::is_directory(directory, error)) {
    return UsageError("--calibration={}: there is no directory {}", path, directory.string());
  }
  return path;
}

// Measures for a command: progress lines, order on Ctrl-C.
Result<Calibration> MeasureNow(CalibrationOptions options, std::FILE* progress) {
  const StopSignal stop_signal;
  omp_set_num_threads(1);  // A worker's products by default; the cost model says what more give.
  FLAGS_minloglevel =
      std::max(FLAGS_minloglevel, google::GLOG_WARNING);  // Stores say what they did.
  const Stopwatch stopwatch;
  options.on_kernel = [&](const std::string& kernel, int pass) {
    fmt::print(progress, "{:>4.0f} s  {}{}\n", stopwatch.Ns() / 1e9, kernel,
               pass > 0 ? ", again" : "");
    std::fflush(progress);
    return StopSignal::Check();
  };
  return Calibrate(options);
}

std::FILE* ProgressBeside(const std::string& json) {
  return json == kJsonToStdout ? stderr : stdout;
}

Status RunCalibrate(const CommandLine& command_line, const Settings& settings) {
  ASSIGN_OR_RETURN(const std::string path, FileToWrite(settings));
  const std::string json = command_line.Value(kJsonFlag);
  const Stopwatch stopwatch;
  ASSIGN_OR_RETURN(const Calibration calibration, MeasureNow({}, ProgressBeside(json)));
  const std::string text = calibration.machine.ToJson().dump(1) + "\n";
  const Status written = WriteFileDurably(path, text);
  if (!written.ok()) return written.Annotate("--calibration=" + path);
  return DeliverFigures(json, text,
                        fmt::format("\n{}\nwritten to {} after {:.0f} s\n",
                                    CalibrationText(calibration), path, stopwatch.Ns() / 1e9));
}

// Only those that are judged.
Status RunKernels(const CommandLine& command_line, const Settings&) {
  const std::string json = command_line.Value(kJsonFlag);
  CalibrationOptions options{.judges = true};
  for (const std::string& name : MeasuredKernels().Names()) {
    ASSIGN_OR_RETURN(const auto kernel, MeasuredKernels().Make(name, {}));
    if (!kernel->judged_as().empty()) options.only.push_back(name);
  }
  if (const char* only = std::getenv("ROWHOUSE_KERNELS")) options.only = {only};
  ASSIGN_OR_RETURN(const Calibration calibration, MeasureNow(options, ProgressBeside(json)));
  return DeliverFigures(json, JudgementToJson(calibration.judged).dump(1) + "\n",
                        "\n" + JudgementText(calibration.judged));
}

const bool kRegistered = AddBenchCommand(
    {.name = "calibrate",
     .note = {"this machine's constants and kernels, for plan's predictions", "2 minutes"},
     .run = &RunCalibrate});
const bool kKernels = AddBenchCommand(
    {.name = "kernels",
     .note = {"tables of kernels, judged at their own and at other sizes", "3 minutes"},
     .run = &RunKernels});

}  // namespace
}  // namespace rowhouse
