// Machine: the constants of one kind of host, as `rowhouse bench calibrate` measures them: what a
// kernel takes, what memory, disk and network give. The cost model knows a machine by nothing else.
// It reads `cores`, `kernels` and the constants "in_step_..." (in_step.h); memory_traffic.h reads
// dram_gbs and llc_bytes; all others are for people.
//
// As a file it is JSON: {"rowhouse_calibration": 1, "host", "cpu", "cores", "measured_at",
// "constants": {name: {"value", "unit", "spread"}}, "kernels": {name: KernelTable}}.
// Threads: plain data.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "common/status.h"
#include "sharding/lab/cost/kernel_table.h"

namespace rowhouse {

struct MachineConstant {
  double value = 0;
  std::string unit;   // "GB/s", "ns", "us"
  double spread = 0;  // (largest - smallest) / median of its samples
};

struct Machine {
  static constexpr int kFormat = 1;

  std::string host;
  std::string cpu;
  uint32_t cores = 1;
  uint64_t llc_bytes = 0;  // effective last-level cache of one process
  uint64_t memory_bytes = 0;
  std::string measured_at;  // "2025-01-31T12:00:00Z"
  std::map<std::string, MachineConstant> constants;
  std::map<std::string, KernelTable> kernels;

  // Requires a name that is there (HasKernel); names: launch/calibrate/kernels.
  bool HasKernel(const std::string& name) const { return kernels.contains(name); }
  double Ns(const std::string& kernel, std::initializer_list<double> sizes) const;
  double Constant(const std::string& name) const;  // CHECKs that it is there

  nlohmann::ordered_json ToJson() const;
  // kUsage, naming the key, for other JSON and for a newer format.
  static Result<Machine> FromJson(const nlohmann::json& json);

  // Round figures of a two-socket server of 2023, for plans of machines that nobody measured.
  // Everything the cost model needs is in it.
  static Machine Typical();
};

}  // namespace rowhouse
