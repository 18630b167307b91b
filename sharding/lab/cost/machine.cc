#include "sharding/lab/cost/machine.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

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
    return UsageError("no calibration: it has no \"{}\"; rowhouse bench calibrate makes one", kKey);
  }
  ASSIGN_OR_RETURN(const uint64_t format, ReadJsonNumber(json.at(kKey), kKey, INT32_MAX));
  if (format != Machine::kFormat) {
    return UsageError(
        "its format is {}, this program reads {}; make another by rowhouse bench "
        "calibrate",
        format, Machine::kFormat);
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
  return UsageError("the calibration lacks {} {}; make another by rowhouse bench calibrate",
                    missing_.size() == 1 ? "kernel" : "kernels", fmt::join(missing_, ", "));
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

}  // namespace rowhouse
