#include "launch/accountability/drift.h"

#include <cmath>
#include <vector>

#include "launch/calibrate/point_samples.h"

namespace rowhouse {
namespace {

constexpr double kProbeMs = 60;

struct Probe {
  const char* kernel;  // of MeasuredKernels()
  std::vector<double> sizes;
  double Drift::*kind;
};

const std::vector<Probe>& Probes() {
  static const std::vector<Probe> probes = {
      {"fully_connected", {1024, 256, 256}, &Drift::products},
      {"interaction_dot", {1024, 9, 16}, &Drift::products},
      {"lookup", {1024, 1, 16}, &Drift::memory},
      {"update_adagrad", {4096, 16}, &Drift::memory},
      {"exchange", {1024, 32}, &Drift::messages},
      {"exchange", {8192, 32}, &Drift::messages},
  };
  return probes;
}

// The kind of a kernel by its name.
double Drift::*KindOf(const std::string& kernel) {
  for (const char* prefix : {"fully_connected", "interaction_"}) {
    if (kernel.starts_with(prefix)) return &Drift::products;
  }
  for (const char* prefix : {"pull", "push", "bags_pull", "bags_push", "allreduce"}) {
    if (kernel.starts_with(prefix)) return &Drift::messages;
  }
  return &Drift::memory;
}

}  // namespace

Drift Drift::Between(const Drift& before, const Drift& after) {
  return {.products = std::sqrt(before.products * after.products),
          .memory = std::sqrt(before.memory * after.memory),
          .messages = std::sqrt(before.messages * after.messages)};
}

Result<Drift> MeasureDrift(const Machine& machine) {
  Drift logs{.products = 0, .memory = 0, .messages = 0};
  Drift counts = logs;
  for (const Probe& probe : Probes()) {
    ASSIGN_OR_RETURN(const std::unique_ptr<MeasuredKernel> kernel,
                     MeasuredKernels().Make(probe.kernel, {}));
    RETURN_IF_ERROR(kernel->Prepare(probe.sizes));
    const std::vector<std::string> figures = kernel->figures();
    std::vector<PointSamples> samples(figures.size());
    RETURN_IF_ERROR(SamplePoint(*kernel, /*pass=*/0, kProbeMs, &samples));
    for (size_t figure = 0; figure < figures.size(); ++figure) {
      const auto known = machine.kernels.find(figures[figure]);
      if (known == machine.kernels.end()) continue;
      logs.*probe.kind += std::log(samples[figure].ns() / known->second.Predict(probe.sizes));
      counts.*probe.kind += 1;
    }
  }
  Drift drift;
  for (double Drift::*const kind : {&Drift::products, &Drift::memory, &Drift::messages}) {
    if (counts.*kind > 0) drift.*kind = std::exp(logs.*kind / counts.*kind);
  }
  return drift;
}

Result<Machine> Drifted(const Machine& machine, const Drift& drift) {
  Machine drifted = machine;
  for (auto& [name, table] : drifted.kernels) {
    std::vector<double> ns = table.ns();
    for (double& time : ns) time *= drift.*KindOf(name);
    ASSIGN_OR_RETURN(table, KernelTable::Make(table.axes(), std::move(ns), table.spread()));
  }
  return drifted;
}

}  // namespace rowhouse
