// MissRatioCurve: the share of accesses that an LRU cache misses, by the number of rows that it
// holds. An access is one row of one step: steps look up a row once, however many lookups of their
// samples mean it.
//
// ReuseSampler (sharding/plans/reuse_sampler.h) makes it in one pass over the accesses. Threads:
// const functions may be shared.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace rowhouse {

struct MissRatioCurve {
  struct Point {
    double rows = 0;        // of the cache
    double miss_ratio = 1;  // [0, 1]
  };
  // By rising rows, falling miss ratio; the first is {0, 1}, the last a cache that misses nothing
  // but first accesses. Empty: nothing was accessed, and all is missed.
  std::vector<Point> points;
  double accesses = 0;       // that it is made of, scaled if rows were sampled
  double distinct_rows = 0;  // likewise
  // Rows that were followed, if not all were. The mean absolute error of miss ratios, over cache
  // sizes from none to all rows, is below kErrorOfOneRow / sqrt(rows_followed): measured on skewed
  // ids and on loops it is a tenth to three quarters of that. It says nothing of caches smaller
  // than distinct_rows / rows_followed * 10. 0: all rows were followed, and the curve is exact but
  // for the width of a bucket of sizes (1 %).
  double rows_followed = 0;
  static constexpr double kErrorOfOneRow = 1.0;

  // Linear between points; beyond the last one as there.
  double MissRatio(double cache_rows) const;
  // The share of accesses that are a row's first: no cache has it. [0, 1]
  double cold_ratio() const { return points.empty() ? 1.0 : points.back().miss_ratio; }
  // Mean absolute error of the miss ratios; 0: exact.
  double error() const;

  nlohmann::ordered_json ToJson() const;
};

}  // namespace rowhouse
