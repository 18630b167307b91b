// MachineOf: see workload_of_run.h.
#include <cstdlib>

#include "common/durable_file.h"
#include "common/json_text.h"
#include "launch/hosts/host_facts.h"
#include "launch/lab/workload_of_run.h"

namespace rowhouse {
namespace {

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
