// KernelTable: the measured time of one kernel over a grid of sizes, and what it predicts between
// the points of the grid.
//
// Between grid points the time is interpolated linearly in the sizes, axis by axis: nearly every
// kernel has a fixed cost and a part proportional to a product of sizes, which this predicts
// exactly. Beyond the last point of an axis the slope of its last cell goes on, but never falls; in
// front of the first one that of its first cell does, kept between a time in proportion to the size
// and the time at the first point. Threads: const functions may be shared.
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

  // `ns`: of each grid point, > 0, the last axis fastest; `spread`: (90th - 10th percentile) /
  // median of the samples of each. kUsage, naming the axis, if they do not fit each other.
  static Result<KernelTable> Make(std::vector<KernelAxis> axes, std::vector<double> ns,
                                  std::vector<double> spread);

  // Nanoseconds at these sizes, one an axis, in their order. A size of 0: 0 ns.
  double Predict(std::span<const double> sizes) const;

  const std::vector<KernelAxis>& axes() const { return axes_; }
  const std::vector<double>& ns() const { return ns_; }
  const std::vector<double>& spread() const { return spread_; }

  // {"axes": [{"name", "values": [...]}], "ns": [...], "spread": [...]}.
  nlohmann::ordered_json ToJson() const;
  // kUsage, naming the key, for any other JSON.
  static Result<KernelTable> FromJson(const nlohmann::json& json);

 private:
  // The time at grid point `point` of the axes before `axis`, and at these sizes of the others.
  double NsAt(size_t axis, size_t point, std::span<const double> sizes) const;

  std::vector<KernelAxis> axes_;
  std::vector<double> ns_, spread_;
};

}  // namespace rowhouse
