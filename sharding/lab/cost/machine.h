// Machine: the constants of one kind of host, as a calibration measures them: what a kernel takes,
// what memory, disk and network give. The cost model knows a machine by nothing else. It reads
// `cores`, `kernels` and the constants "in_step_..." (InStep); memory_traffic.h reads dram_gbs and
// llc_bytes; all others are for people.
//
// As a file it is JSON: {"rowhouse_calibration": 1, "host", "cpu", "cores", "measured_at",
// "constants": {name: {"value", "unit", "spread"}}, "kernels": {name: KernelTable}}.
// Threads: plain data.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>

#include "common/status.h"
#include "common/step_phases.h"
#include "sharding/lab/cost/kernel_table.h"

namespace rowhouse {

struct MachineConstant {
  double value = 0;
  std::string unit;  // "GB/s", "ns", "us"
  // (90th - 10th percentile) / median of its samples. Of a constant that is derived from a kernel:
  // the largest spread of the kernel's points; of "in_step_...": (largest - smallest) / value over
  // the reference runs.
  double spread = 0;
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

// Looks up times in a machine's kernels, and remembers the names of those that it lacks, so that
// one message can name them all. Threads: one.
class KernelTimes {
 public:
  explicit KernelTimes(const Machine& machine) : machine_(machine) {}

  // Milliseconds; 0 if the kernel is missing or a size is 0.
  double Ms(const std::string& kernel, std::initializer_list<double> sizes);

  // Returns stem + member if measured, else stem + "any" if that is, else stem + member. "any" is
  // what a typical machine takes for any member of the family.
  std::string Of(const std::string& stem, const std::string& member) const;

  const Machine& machine() const { return machine_; }

  // kUsage, naming them, if kernels were missing.
  Status status() const;

 private:
  const Machine& machine_;
  std::set<std::string> missing_;
};

// How much longer a kernel takes inside a step than when it is measured again and again, as
// calibration does: other phases have filled the processor's caches, and threads were asleep. Times
// of kernels are multiplied by the factor of their phase.
struct InStep {
  StepPhases phases;  // allreduce and other: not used
  double store = 1;
  // Parts of the time that a store's thread takes to read and write rows, with reading ahead. In
  // pulls a shard chooses the rows that have to leave, checks and copies them. Meanwhile it looks
  // up rows to come and admits those that were read, and RocksDB's threads write and merge its
  // files. Without reading ahead, reading and writing is in the pull, and not beside it.
  double store_in_pulls = 1, store_beside = 1;
  // What each compute thread but the first adds to the pace of products, as a share of the first's.
  double thread_efficiency = 1;
  // Activations, loss and its gradient, beside the products: ns a sample.
  double loss_ns_per_sample = 0;
  // The share of a host's cores that the threads of pulls and pushes of rows keep busy at once.
  double exchange_cores = 1;
  // Workers of a host that share its cores wait for each other: standard deviation of a step's
  // time between them, as a share of it.
  double jitter = 0;

  // By the machine's constants "in_step_<phase>", "in_step_store" and so on. Constants the machine
  // lacks: factor 1; loss_ns_per_sample and jitter 0.
  static InStep Of(const Machine& machine);
  // The name of a phase's constant.
  static std::string ConstantOf(const NamedStepPhase& phase);
  // Calls use(name, double*) with each constant's name and where its value is here.
  template <typename Use>
  void ForEach(const Use& use) {
    for (const NamedStepPhase& phase : kNamedStepPhases) {
      use(ConstantOf(phase), &(phases.*phase.value));
    }
    use("in_step_store", &store);
    use("in_step_store_in_pulls", &store_in_pulls);
    use("in_step_store_beside", &store_beside);
    use("in_step_thread_efficiency", &thread_efficiency);
    use("in_step_loss_ns_per_sample", &loss_ns_per_sample);
    use("in_step_exchange_cores", &exchange_cores);
    use("in_step_jitter", &jitter);
  }
};

}  // namespace rowhouse
