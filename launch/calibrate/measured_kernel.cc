#include "launch/calibrate/measured_kernel.h"

namespace rowhouse {

Registry<MeasuredKernel, KernelOptions>& MeasuredKernels() {
  static Registry<MeasuredKernel, KernelOptions> registry("kernel");
  return registry;
}

}  // namespace rowhouse
