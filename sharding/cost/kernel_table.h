// KernelTable: the measured time of one kernel over a grid of sizes, and what it predicts between
// the points of the grid.
//
// Between grid points the logarithm of the time is interpolated linearly in the logarithms of the
// sizes, axis by axis, so that a time proportional to a product of powers of the sizes is predicted
// exactly. Beyond the grid the last cell's slope goes on. Threads: const functions may be shared.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"

namespace rowhouse {

struct KernelAxis {
  std::string name;            // "rows"
  std::vector<double> values;  // ascending, > 0, at least one
};

class KernelTable {
 public:
  KernelTable() = default;

  // `ns`: of each grid point, > 0, the last axis fastest; `spread`: (largest - smallest) / median
  // of the samples of each. kUsage, naming the axis, if they do not fit each other.
  static Result<KernelTable> Make(std::vector<KernelAxis> axes, std::vector<double> ns,
                                  std::vector<double> spread);

  // Nanoseconds at these sizes, one an axis, in their order. A size of 0: 0 ns.
  double Predict(std::span<const double> sizes) const;

  const std::vector<KernelAxis>& axes() const { return axes_; }
  const std::vector<double>& ns() const { return ns_; }
  const std::vector<double>& spread() const { return spread_; }

  nlohmann::ordered_json ToJson() const;
  static Result<KernelTable> FromJson(const nlohmann::json& json);

 private:
  std::vector<KernelAxis> axes_;
  std::vector<double> ns_, spread_;
};

}  // namespace rowhouse
