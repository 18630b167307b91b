#include "sharding/plans/miss_ratio_curve.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace rowhouse {

double MissRatioCurve::MissRatio(double cache_rows) const {
  if (points.empty()) return 1.0;
  const auto after = std::ranges::upper_bound(points, cache_rows, {}, &Point::rows);
  if (after == points.begin()) return points.front().miss_ratio;
  if (after == points.end()) return points.back().miss_ratio;
  const Point& before = *(after - 1);
  const double share = (cache_rows - before.rows) / (after->rows - before.rows);
  return before.miss_ratio + share * (after->miss_ratio - before.miss_ratio);
}

double MissRatioCurve::error() const {
  return rows_followed > 0.0 ? kErrorOfOneRow / std::sqrt(rows_followed) : 0.0;
}

nlohmann::ordered_json MissRatioCurve::ToJson() const {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Point& point : points) list.push_back({point.rows, point.miss_ratio});
  return {{"accesses", accesses},
          {"distinct_rows", distinct_rows},
          {"error", error()},
          {"points", std::move(list)}};
}

}  // namespace rowhouse
