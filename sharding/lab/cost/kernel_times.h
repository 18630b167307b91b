// KernelTimes: looks up times in a machine's kernels, and remembers the names of those that it
// lacks, so that one message can name them all. Threads: one.
#pragma once

#include <initializer_list>
#include <set>
#include <string>

#include "sharding/lab/cost/machine.h"

namespace rowhouse {

class KernelTimes {
 public:
  explicit KernelTimes(const Machine& machine) : machine_(machine) {}

  // Milliseconds; 0 if the kernel is missing or a size is 0.
  double Ms(const std::string& kernel, std::initializer_list<double> sizes);

  // The kernel `stem` + `member`, or, if the machine has it and not that one, `stem` + "any": what
  // a typical machine takes for any member of the family.
  std::string Of(const std::string& stem, const std::string& member) const;

  const Machine& machine() const { return machine_; }

  // kUsage, naming them, if kernels were missing.
  Status status() const;

 private:
  const Machine& machine_;
  std::set<std::string> missing_;
};

}  // namespace rowhouse
