#include "sharding/lab/cost/machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/json_text.h"

namespace rowhouse {
namespace {

Result<double> NumberOf(const nlohmann::json& json, const char* key) {
  if (!json.at(key).is_number()) {
    return UsageError("{} is {}; expected a number", key, ShownJson(json.at(key)));
  }
  return json.at(key).get<double>();
}

Result<MachineConstant> ConstantOf(const nlohmann::json& json) {
  RETURN_IF_ERROR(CheckJsonKeys(json, {"value", "unit", "spread"}));
  MachineConstant constant;
  ASSIGN_OR_RETURN(constant.value, NumberOf(json, "value"));
  if (constant.value < 0) return UsageError("its value is {}; expected 0 or more", constant.value);
  ASSIGN_OR_RETURN(constant.unit, ReadJsonString(json.at("unit"), "unit"));
  ASSIGN_OR_RETURN(constant.spread, NumberOf(json, "spread"));
  return constant;
}

Status CheckFormat(const nlohmann::json& json) {
  constexpr const char* kKey = "rowhouse_calibration";
  if (!json.is_object() || !json.contains(kKey)) {
    return UsageError("no calibration: it has no \"{}\"", kKey);
  }
  ASSIGN_OR_RETURN(const uint64_t format, ReadJsonNumber(json.at(kKey), kKey, INT32_MAX));
  if (format != Machine::kFormat) {
    return UsageError("its format is {}, this program reads {}", format, Machine::kFormat);
  }
  return OkStatus();
}

Result<Machine> Read(const nlohmann::json& json) {
  RETURN_IF_ERROR(CheckFormat(json));
  RETURN_IF_ERROR(CheckJsonKeys(json,
                                {"rowhouse_calibration", "host", "cpu", "cores", "llc_bytes",
                                 "memory_bytes", "measured_at", "constants", "kernels"},
                                {"version", "notes"}));
  Machine machine;
  ASSIGN_OR_RETURN(machine.host, ReadJsonString(json.at("host"), "host"));
  ASSIGN_OR_RETURN(machine.cpu, ReadJsonString(json.at("cpu"), "cpu"));
  ASSIGN_OR_RETURN(const uint64_t cores, ReadJsonNumber(json.at("cores"), "cores", 1 << 20));
  machine.cores = static_cast<uint32_t>(cores);
  if (cores < 1) return UsageError("cores is 0; expected 1 or more");
  ASSIGN_OR_RETURN(machine.llc_bytes,
                   ReadJsonNumber(json.at("llc_bytes"), "llc_bytes", UINT64_MAX));
  ASSIGN_OR_RETURN(machine.memory_bytes,
                   ReadJsonNumber(json.at("memory_bytes"), "memory_bytes", UINT64_MAX));
  ASSIGN_OR_RETURN(machine.measured_at, ReadJsonString(json.at("measured_at"), "measured_at"));
  for (const char* const key : {"constants", "kernels"}) {
    if (!json.at(key).is_object()) return UsageError("{} is no object", key);
  }
  for (const auto& [name, value] : json.at("constants").items()) {
    Result<MachineConstant> constant = ConstantOf(value);
    if (!constant.ok()) return constant.status().Annotate("constant " + name);
    machine.constants[name] = std::move(constant).value();
  }
  for (const auto& [name, value] : json.at("kernels").items()) {
    Result<KernelTable> kernel = KernelTable::FromJson(value);
    if (!kernel.ok()) return kernel.status().Annotate("kernel " + name);
    machine.kernels[name] = std::move(kernel).value();
  }
  return machine;
}

}  // namespace

double Machine::Ns(const std::string& kernel, std::initializer_list<double> sizes) const {
  const auto found = kernels.find(kernel);
  CHECK(found != kernels.end()) << "no kernel " << kernel;
  return found->second.Predict(std::span(sizes.begin(), sizes.size()));
}

double Machine::Constant(const std::string& name) const {
  const auto found = constants.find(name);
  CHECK(found != constants.end()) << "no constant " << name;
  return found->second.value;
}

nlohmann::ordered_json Machine::ToJson() const {
  nlohmann::ordered_json json = {{"rowhouse_calibration", kFormat},
                                 {"host", host},
                                 {"cpu", cpu},
                                 {"cores", cores},
                                 {"llc_bytes", llc_bytes},
                                 {"memory_bytes", memory_bytes},
                                 {"measured_at", measured_at},
                                 {"constants", nlohmann::ordered_json::object()},
                                 {"kernels", nlohmann::ordered_json::object()}};
  for (const auto& [name, constant] : constants) {
    json["constants"][name] = {
        {"value", constant.value}, {"unit", constant.unit}, {"spread", constant.spread}};
  }
  for (const auto& [name, kernel] : kernels) json["kernels"][name] = kernel.ToJson();
  return json;
}

Result<Machine> Machine::FromJson(const nlohmann::json& json) {
  Result<Machine> machine = Read(json);
  if (!machine.ok()) return UsageError("{}", machine.status().message());
  return machine;
}

double KernelTimes::Ms(const std::string& kernel, std::initializer_list<double> sizes) {
  const auto found = machine_.kernels.find(kernel);
  if (found == machine_.kernels.end()) {
    missing_.insert(kernel);
    return 0;
  }
  if (found->second.axes().size() != sizes.size()) {
    missing_.insert(fmt::format("{} of {} sizes", kernel, sizes.size()));
    return 0;
  }
  return found->second.Predict(std::span(sizes.begin(), sizes.size())) * 1e-6;
}

std::string KernelTimes::Of(const std::string& stem, const std::string& member) const {
  const bool has_any = !machine_.HasKernel(stem + member) && machine_.HasKernel(stem + "any");
  return stem + (has_any ? "any" : member);
}

Status KernelTimes::status() const {
  if (missing_.empty()) return OkStatus();
  return UsageError("the calibration lacks {} {}", missing_.size() == 1 ? "kernel" : "kernels",
                    fmt::join(missing_, ", "));
}

std::string InStep::ConstantOf(const NamedStepPhase& phase) {
  return std::string("in_step_") + phase.name;
}

InStep InStep::Of(const Machine& machine) {
  InStep factors;
  for (const NamedStepPhase& phase : kNamedStepPhases) factors.phases.*phase.value = 1;
  factors.ForEach([&](const std::string& constant, double* value) {
    const auto found = machine.constants.find(constant);
    if (found != machine.constants.end()) *value = found->second.value;
  });
  return factors;
}

// ---- Machine::Typical: kernels from round figures by formula ------------------------------------
// Its times are good to a factor of two; what it tells apart are plans, not machines.

namespace {

using Sizes = std::span<const double>;

// The kernel over the corners of its axes; times are multilinear, so that corners are enough.
KernelTable Kernel(std::vector<KernelAxis> axes, const std::function<double(Sizes)>& ns) {
  std::vector<double> times(1, 0.0), sizes(axes.size());
  size_t points = 1;
  for (const KernelAxis& axis : axes) points *= axis.values.size();
  times.resize(points);
  for (size_t p = 0; p < points; ++p) {
    size_t left = p;
    for (size_t a = axes.size(); a-- > 0;) {
      sizes[a] = axes[a].values[left % axes[a].values.size()];
      left /= axes[a].values.size();
    }
    times[p] = ns(sizes);
  }
  std::vector<double> spread(points, 0.0);
  return KernelTable::Make(std::move(axes), std::move(times), std::move(spread)).value();
}

KernelAxis Axis(const char* name, double least, double most) { return {name, {least, most}}; }

// Fixed cost, and costs a row and a float of it.
void AddExchange(Machine* machine, const std::string& stem, double ns_per_row,
                 double ns_per_float) {
  const auto add = [&](const char* part, double fixed, double share) {
    machine->kernels[stem + part] =
        Kernel({Axis("rows", 1, 1e6), Axis("dim", 1, 1024)},
               [=](Sizes s) { return fixed + share * s[0] * (ns_per_row + ns_per_float * s[1]); });
  };
  add("", 60'000, 1.0);
  add("_worker", 25'000, 0.45);
  add("_shard", 25'000, 0.55);
}

// Of a list of bags. A lookup of a row that the list looks up again takes a quarter of the first.
KernelTable BagKernel(double fixed, double ns_per_bag, double ns_per_bag_float,
                      double ns_per_lookup, double ns_per_float) {
  return Kernel({Axis("bags", 1, 1e6), Axis("bag_length", 0.01, 1000), Axis("dim", 1, 1024),
                 Axis("new_share", 0.01, 1)},
                [=](Sizes s) {
                  const double of_lookup = ns_per_lookup + ns_per_float * s[2];
                  return fixed + s[0] * (ns_per_bag + ns_per_bag_float * s[2] +
                                         s[1] * of_lookup * (0.25 + 0.75 * s[3]));
                });
}

void AddBagExchange(Machine* machine, const std::string& stem) {
  const auto add = [&](const char* part, double fixed, double lookup, double value) {
    machine->kernels[stem + part] = BagKernel(fixed, 5, 0.5, lookup, value);
  };
  add("", 60'000, 30, 0.3);
  add("_worker", 25'000, 5, 0.02);
  add("_shard", 25'000, 25, 0.28);
}

void AddWorkerKernels(Machine* machine) {
  auto& kernels = machine->kernels;
  kernels["merge"] = Kernel({Axis("lookups", 1, 1e7), Axis("table_rows", 1, 1e9)},
                            [](Sizes s) { return 500 + 12 * s[0]; });
  kernels["row_gradients"] = Kernel({Axis("rows", 1, 1e7), Axis("dim", 1, 1024)},
                                    [](Sizes s) { return 200 + 0.2 * s[0] * s[1]; });
  for (const char* const name : {"lookup_forward", "lookup_backward"}) {
    kernels[name] =
        Kernel({Axis("samples", 1, 1e6), Axis("bag_length", 0.01, 1000), Axis("dim", 1, 1024)},
               [](Sizes s) { return 1'000 + s[0] * (5 + s[1] * (8 + 0.15 * s[2])); });
  }
  for (const auto& [precision, gflops] : {std::pair{"", 100.0}, std::pair{"bf16_", 200.0}}) {
    for (const bool forward : {true, false}) {
      kernels[fmt::format("fully_connected_{}{}", precision, forward ? "forward" : "backward")] =
          Kernel({Axis("samples", 1, 1e6), Axis("inputs", 1, 1e4), Axis("outputs", 1, 1e4)},
                 [forward, gflops](Sizes s) {
                   return 5'000 + (forward ? 2 : 4) * s[0] * s[1] * s[2] / gflops;
                 });
    }
  }
  // With the square of the vectors, which corners alone would not show.
  kernels["interaction_any"] = Kernel(
      {Axis("samples", 1, 1e6),
       {"vectors", {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}},
       Axis("width", 1, 1024)},
      [](Sizes s) { return 3'000 + s[0] * (s[1] * s[1] * (1 + 0.04 * s[2]) + 0.3 * s[1] * s[2]); });
  kernels["interaction_cat"] =
      Kernel({Axis("samples", 1, 1e6), Axis("vectors", 1, 1024), Axis("width", 1, 1024)},
             [](Sizes s) { return 2'000 + 0.3 * s[0] * s[1] * s[2]; });
  kernels["dense_update_any"] =
      Kernel({Axis("floats", 1, 1e9)}, [](Sizes s) { return 3'000 + 1.0 * s[0]; });
  kernels["allreduce"] = Kernel({Axis("workers", 2, 1024), Axis("floats", 1, 1e9)},
                                [](Sizes s) { return 20'000 + 500 * s[0] + 3.0 * s[1]; });
}

void AddStoreAndData(Machine* machine) {
  auto& kernels = machine->kernels;
  kernels["multiget"] = Kernel({Axis("rows", 1, 1e7), Axis("record_bytes", 16, 1e5)},
                               [](Sizes s) { return 20'000 + s[0] * (2'500 + 0.2 * s[1]); });
  kernels["put"] = Kernel({Axis("rows", 1, 1e7), Axis("record_bytes", 16, 1e5)},
                          [](Sizes s) { return 10'000 + s[0] * (1'200 + 0.5 * s[1]); });
  kernels["gather"] =
      Kernel({{"table_bytes", {1e6, 3e7, 1e9, 1e12}}, Axis("row_bytes", 4, 4096)}, [](Sizes s) {
        const double lines = std::ceil(s[1] / 64);
        return 2 + lines * (s[0] < 3e7 ? 1.0 : 8.0);
      });
  kernels["data_any"] = Kernel({Axis("samples", 1, 1e7), Axis("ids", 1, 1e5)},
                               [](Sizes s) { return 1'000 + s[0] * (300 + 40 * s[1]); });
  for (const char* const name : {"pull_tables", "push_tables"}) {
    kernels[name] = Kernel({Axis("tables", 1, 1e4), Axis("shards", 1, 1e4)}, [](Sizes s) {
      return 60'000 + 15'000 * (s[1] - 1) + 300 * s[0] * s[1];
    });
  }
}

}  // namespace

Machine Machine::Typical() {
  Machine machine;
  machine.host = "typical";
  machine.cpu = "two-socket server of 2023";
  machine.cores = 64;
  machine.llc_bytes = 32 << 20;
  machine.memory_bytes = uint64_t{256} << 30;
  machine.measured_at = "2023-01-01T00:00:00Z";
  machine.constants = {{"dram_gbs", {100, "GB/s", 0}},
                       {"llc_gbs", {400, "GB/s", 0}},
                       {"dram_latency_ns", {100, "ns", 0}},
                       {"zmq_round_trip_us", {50, "us", 0}},
                       {"zmq_gbs", {3, "GB/s", 0}},
                       {"gemm_f32_gflops", {100, "GFLOP/s", 0}},
                       {"gemm_bf16_gflops", {200, "GFLOP/s", 0}},
                       {"multiget_rows_per_s", {400'000, "rows/s", 0}},
                       {"put_rows_per_s", {800'000, "rows/s", 0}}};
  AddExchange(&machine, "pull", 40, 0.8);
  AddExchange(&machine, "push", 40, 0.8);
  machine.kernels["update_any"] = Kernel({Axis("rows", 1, 1e6), Axis("dim", 1, 1024)},
                                         [](Sizes s) { return 10'000 + s[0] * (40 + 0.5 * s[1]); });
  machine.kernels["bags_update"] = BagKernel(10'000, 0, 0, 40, 0.5);
  AddBagExchange(&machine, "bags_pull");
  AddBagExchange(&machine, "bags_push");
  AddWorkerKernels(&machine);
  AddStoreAndData(&machine);
  return machine;
}

}  // namespace rowhouse
