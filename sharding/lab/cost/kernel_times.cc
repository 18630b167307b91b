#include "sharding/lab/cost/kernel_times.h"

#include <fmt/ranges.h>

namespace rowhouse {

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

}  // namespace rowhouse
