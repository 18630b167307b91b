// MachineOf: see workload_of_run.h.
#include <algorithm>
#include <cstdlib>

#include "common/durable_file.h"
#include "common/json_text.h"
#include "launch/calibrate/calibration.h"
#include "launch/hosts/host_facts.h"
#include "launch/lab/workload_of_run.h"

namespace rowhouse {
namespace {

// A calibration of which more than one kernel in so many scatters is warned about.
constexpr size_t kMostBusy = 5;

Result<Machine> ReadMachine(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  ASSIGN_OR_RETURN(const JsonText json, ReadJsonText(text));
  return Machine::FromJson(json.value);
}

std::string WarningOf(const Machine& machine, const std::string& path) {
  const std::string host = HostName();
  const HostFacts here = FactsOfThisHost();
  if (machine.host != host) {
    return fmt::format("the calibration {} is of host {}, this is {}: times are those of that host",
                       path, machine.host, host);
  }
  if (machine.cores != here.cpus) {
    return fmt::format(
        "the calibration {} is of a host with {} cores, this one has {} now; rowhouse bench "
        "calibrate makes another",
        path, machine.cores, here.cpus);
  }
  if (const std::string cpu = CpuName(); machine.cpu != cpu) {
    return fmt::format(
        "the calibration {} is of another processor ({}), this host has {}; rowhouse bench "
        "calibrate makes another",
        path, machine.cpu, cpu);
  }
  // Some kernels scatter on any host.
  const size_t busy = BusyKernels(machine), all = machine.kernels.size();
  if (busy * kMostBusy > all) {
    return fmt::format(
        "the calibration {} was measured beside other work: the samples of {} of {} kernels are "
        "spread by more than {:.0f} %; rowhouse bench calibrate measures again",
        path, busy, all, 100 * kBusySpread);
  }
  if (!std::ranges::any_of(machine.constants, [](const auto& constant) {
        return constant.first.starts_with("in_step_");
      })) {
    return fmt::format(
        "the calibration {} does not say how much longer kernels take within a step: that is taken "
        "from another host; rowhouse bench calibrate measures it",
        path);
  }
  return "";
}

CalibratedMachine TypicalMachine(std::string warning) {
  return {.machine = Machine::Typical(), .path = "", .warning = std::move(warning)};
}

}  // namespace

std::string CalibrationPathOf(const std::string& host) {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  std::string folder;
  if (cache != nullptr && cache[0] == '/') {
    folder = cache;
  } else {
    const char* const home = std::getenv("HOME");
    folder = std::string(home == nullptr ? "/tmp" : home) + "/.cache";
  }
  return fmt::format("{}/rowhouse/calibration-{}.json", folder, host);
}

Result<CalibratedMachine> MachineOf(const std::string& given) {
  if (given == "typical") return TypicalMachine("");
  const std::string path = given.empty() ? CalibrationPathOf(HostName()) : given;
  Result<Machine> machine = ReadMachine(path);
  if (machine.ok()) {
    CalibratedMachine calibrated{
        .machine = std::move(machine).value(), .path = path, .warning = {}};
    calibrated.warning = WarningOf(calibrated.machine, path);
    return calibrated;
  }
  if (!given.empty()) return UsageError("--calibration={}: {}", given, machine.status().message());
  if (machine.status().code() == StatusCode::kNotFound) {
    return TypicalMachine(
        "this host is not calibrated: times are those of a typical server; rowhouse bench "
        "calibrate measures this one");
  }
  return TypicalMachine(
      fmt::format("{}: {}; times are those of a typical server", path, machine.status().message()));
}

Result<CalibratedMachine> MachineOf(const CommandLine& command_line) {
  return MachineOf(command_line.Value("calibration"));
}

}  // namespace rowhouse
