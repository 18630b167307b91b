#include "launch/prediction/machine_of_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "common/counted.h"
#include "common/durable_file.h"
#include "common/json_text.h"
#include "common/median.h"
#include "launch/figures/figure_text.h"
#include "launch/hosts/host_facts.h"
#include "sharding/rows/optimizer.h"
#include "worker/data/dataset.h"
#include "worker/dense/dense_optimizer.h"
#include "worker/dense/interaction.h"

namespace rowhouse {
namespace {

// A calibration of which more than one kernel in kMaxBusy scatters is warned about.
constexpr size_t kMaxBusy = 5;

constexpr size_t kMaxNamed = 4;  // kernels in a warning

Result<Machine> ReadMachine(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  ASSIGN_OR_RETURN(const JsonText json, ReadJsonText(text));
  Result<Machine> machine = Machine::FromJson(json.value);
  if (machine.ok()) return machine;
  return UsageError("{}; rowhouse bench calibrate makes another", machine.status().message());
}

// In what this host is another than the calibrated one; "": in nothing.
std::string WhyAnotherHost(const Machine& machine, const std::string& path) {
  Machine here;
  DescribeHost(&here);
  if (machine.host != here.host) {
    return fmt::format("the calibration {} is of host {}, this is {}: times are those of that host",
                       path, machine.host, here.host);
  }
  if (machine.cores != here.cores) {
    return fmt::format(
        "the calibration {} is of a host with {} cores, this one has {} now; rowhouse bench "
        "calibrate makes another",
        path, machine.cores, here.cores);
  }
  if (machine.cpu != here.cpu) {
    return fmt::format(
        "the calibration {} is of another processor ({}), this host has {}; rowhouse bench "
        "calibrate makes another",
        path, machine.cpu, here.cpu);
  }
  return "";
}

std::string WarningOf(const Machine& machine, const std::string& path) {
  // Some kernels scatter on any host.
  const size_t busy = KernelsSpreadBeyond(machine, kBusySpread).size();
  const size_t all = machine.kernels.size();
  if (busy * kMaxBusy > all) {
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

// As fitted to training runs on a quiet host of two cores (docs/cost_model.md has the runs); parts
// of a store's time by phases of shards (report.json) and the time of RocksDB's threads in runs of
// 2 PS nodes and 2 workers. Of two compute threads one is idle for about a fifth of a product's
// time.
constexpr InStep kTypicalInStep = {.phases = {.data = 1.06,
                                              .merge = 1.8,
                                              .pull = 1.35,
                                              .row_gradients = 1.85,
                                              .pool = 2.9,
                                              .mlp = 1.05,
                                              .interaction = 1.3,
                                              .pool_backward = 1.8,
                                              .push = 1.35,
                                              .dense_update = 1.6},
                                   .store = 1.35,
                                   .store_in_pulls = 0.25,
                                   .store_beside = 1.5,
                                   .thread_efficiency = 0.8,
                                   .loss_ns_per_sample = 90,
                                   .exchange_cores = 0.55,
                                   .jitter = 0.1};

// What stands in for this host where nothing was measured.
CalibratedMachine TypicalHere(const std::string& why) {
  Machine here;
  DescribeHost(&here);
  Machine machine = WithTypicalInStep(Machine::Typical());
  machine.cores = here.cores;
  machine.memory_bytes = here.memory_bytes;
  return {.machine = std::move(machine),
          .path = "",
          .warning = fmt::format("{} with {}", why, Counted(here.cores, "core"))};
}

// The kernel of that name, or of any member of its family: "update_any" for "update_adam". Null if
// the machine has neither.
const KernelTable* KernelFor(const Machine& machine, const std::string& name) {
  if (machine.HasKernel(name)) return &machine.kernels.at(name);
  for (size_t end = name.find('_'); end != std::string::npos; end = name.find('_', end + 1)) {
    const std::string of_any = name.substr(0, end + 1) + "any";
    if (machine.HasKernel(of_any)) return &machine.kernels.at(of_any);
  }
  return nullptr;
}

// Names of what a calibration measures: kernels of a typical machine, which has one for any member
// of a family, for every member.
std::vector<std::string> NamesOfKernels(const Machine& typical) {
  std::vector<std::string> generated = Datasets().Names();
  std::erase_if(generated,
                [](const std::string& name) { return !DeclarationOfDataset(name).is_generated; });
  const std::map<std::string, std::vector<std::string>> families = {
      {"update_any", Optimizers().Names()},
      {"dense_update_any", DenseOptimizers().Names()},
      {"interaction_any", Interactions().Names()},
      {"data_any", generated},
  };
  std::vector<std::string> names;
  for (const auto& [name, table] : typical.kernels) {
    const auto family = families.find(name);
    if (family == families.end()) {
      names.push_back(name);
      continue;
    }
    const std::string stem = name.substr(0, name.size() - std::string_view("any").size());
    for (const std::string& member : family->second) {
      if (!typical.HasKernel(stem + member)) names.push_back(stem + member);
    }
  }
  return names;
}

// Typical times for kernels without trustworthy ones: a sentence that names them; "": none.
std::string StandIn(const std::string& path, Machine* machine) {
  const Machine typical = Machine::Typical();
  const auto has_no_typical = [&](const std::string& name) {
    return KernelFor(typical, name) == nullptr;
  };
  std::vector<std::string> lacking = NamesOfKernels(typical);
  std::erase_if(lacking, [&](const auto& name) {
    const KernelTable* const own = KernelFor(*machine, name);
    return own != nullptr && own->axes().size() == KernelFor(typical, name)->axes().size();
  });
  std::vector<std::string> scattered = KernelsSpreadBeyond(*machine, kRefusedSpread);
  std::erase_if(scattered, has_no_typical);
  for (const auto& names : {lacking, scattered}) {
    for (const std::string& name : names) machine->kernels[name] = *KernelFor(typical, name);
  }
  std::string why;
  if (!lacking.empty()) why = fmt::format("lacks {}", NamesText(lacking, kMaxNamed));
  if (!scattered.empty()) {
    why += fmt::format(
        "{}was measured beside other work: samples are spread by more than {:.0f} % "
        "of {}",
        why.empty() ? "" : " and ", 100 * kRefusedSpread, NamesText(scattered, kMaxNamed));
  }
  if (why.empty()) return "";
  return fmt::format(
      "the calibration {} {}; typical figures stand in; rowhouse bench calibrate measures again",
      path, why);
}

}  // namespace

Machine WithTypicalInStep(Machine machine) {
  InStep typical = kTypicalInStep;
  typical.ForEach([&](const std::string& constant, const double* value) {
    if (*value > 0) machine.constants.insert({constant, {.value = *value, .unit = "times"}});
  });
  return machine;
}

void DescribeHost(Machine* machine) {
  const HostFacts facts = FactsOfThisHost();
  machine->host = facts.name;
  machine->cpu = CpuName();
  machine->cores = facts.cpus;
  machine->memory_bytes =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

std::vector<std::string> KernelsSpreadBeyond(const Machine& machine, double spread) {
  std::vector<std::string> names;
  for (const auto& [name, table] : machine.kernels) {
    if (MedianOf(table.spread()) > spread) names.push_back(name);
  }
  return names;
}

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
  if (given == "typical") {
    return CalibratedMachine{.machine = WithTypicalInStep(Machine::Typical())};
  }
  const std::string path = given.empty() ? CalibrationPathOf(HostName()) : given;
  Result<Machine> machine = ReadMachine(path);
  if (machine.ok()) {
    CalibratedMachine calibrated{
        .machine = std::move(machine).value(), .path = path, .warning = {}};
    Machine& measured = calibrated.machine;
    const std::string other = WhyAnotherHost(measured, path);
    const std::string beside = WarningOf(measured, path);
    const std::string stands_in = StandIn(path, &measured);
    measured = WithTypicalInStep(std::move(measured));
    calibrated.is_measured_here = other.empty() && stands_in.empty();
    calibrated.warning = !other.empty() ? other : !stands_in.empty() ? stands_in : beside;
    return calibrated;
  }
  if (!given.empty()) return UsageError("--calibration={}: {}", given, machine.status().message());
  if (machine.status().code() == StatusCode::kNotFound) {
    return TypicalHere(
        "this host is not calibrated (rowhouse bench calibrate measures it): times are those of a "
        "typical server");
  }
  return TypicalHere(
      fmt::format("{}: {}; times are those of a typical server", path, machine.status().message()));
}

}  // namespace rowhouse
