// MeasuredKernel: a part of the system whose time depends on sizes, measured with the code that
// runs in training. `rowhouse bench calibrate` measures each over its grid; the cost model predicts
// by the tables; `rowhouse plan --accountability` measures other sizes and compares.
//
// Threads: made, used and destroyed on one thread, one at a time.
// To add one, write launch/calibrate/kernels/<name>.cc; it registers itself here.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/registry.h"
#include "common/status.h"
#include "sharding/cost/kernel_table.h"

namespace rowhouse {

class MeasuredKernel {
 public:
  virtual ~MeasuredKernel() = default;

  virtual std::vector<KernelAxis> grid() const = 0;
  // Sizes to judge predictions at; none is a point of the grid.
  virtual std::vector<std::vector<double>> held_out() const { return {}; }
  // "lookup_forward", "update", "fully_connected", "interaction", "pull", "push", "allreduce"; or
  // "": not judged.
  virtual std::string judged_as() const { return ""; }

  // Prepares for sizes, one an axis; then each Measure gives the nanoseconds of one run at them.
  virtual Status Prepare(std::span<const double> sizes) = 0;
  virtual Result<double> Measure() = 0;
};

struct KernelOptions {};
Registry<MeasuredKernel, KernelOptions>& MeasuredKernels();

}  // namespace rowhouse
