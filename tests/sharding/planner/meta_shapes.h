// Tables with the shapes of Meta's published traces (tests/vectors/meta_dlrm_shapes.json), made up
// where nothing was published: lookups spread over tables log-normally (sigma 1.5, at most 200 a
// bag), a table's reuse drawn from the shares of rows, scaled to the published means.
#pragma once

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "common/random.h"
#include "tests/testing/testing.h"

namespace rowhouse {

struct MetaTable {
  double lookups = 0;   // a bag
  double distinct = 0;  // rows that a batch of the trace looks up
};

struct MetaShape {
  int year = 0;
  uint64_t samples = 0;
  std::vector<MetaTable> tables;
};

inline std::vector<MetaShape> MetaShapes() {
  constexpr double kSigma = 1.5, kMaxLookups = 200;
  std::vector<MetaShape> shapes;
  const nlohmann::json vectors = LoadVectors("meta_dlrm_shapes.json");
  for (const nlohmann::json& given : vectors.at("shapes")) {
    MetaShape shape{.year = given.at("year"), .samples = given.at("samples"), .tables = {}};
    shape.tables.resize(given.at("tables").get<size_t>());
    SplitMix64 random(static_cast<uint64_t>(shape.year));
    const std::vector<double> share = given.at("rows_by_lookups");
    double lookups = 0, distinct = 0;
    for (MetaTable& table : shape.tables) {
      const uint64_t radius = random.Next(), angle = random.Next();
      table.lookups = std::exp(kSigma * ToNormal(radius, angle));
      double left = ToUnitDouble(random.Next());
      size_t k = 0;
      while (k + 1 < share.size() && left >= share[k]) left -= share[k++];
      table.distinct = table.lookups / std::exp2(static_cast<double>(k));
      lookups += table.lookups;
      distinct += table.distinct;
    }
    const auto count = static_cast<double>(shape.tables.size());
    const double per_bag = given.at("lookups_per_bag"), per_row = given.at("lookups_per_row");
    for (MetaTable& table : shape.tables) {
      table.lookups = std::min(kMaxLookups, table.lookups * per_bag * count / lookups);
      table.distinct = std::max(1.0, table.distinct * per_bag * count / distinct / per_row *
                                         static_cast<double>(shape.samples));
    }
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

}  // namespace rowhouse
