#include "worker/data/buckets.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "common/random.h"
#include "common/read_value.h"

namespace rowhouse {
namespace {

constexpr char kExpected[] =
    "expected quantiles(N), log2, floor_log_squared, or edges that ascend, such as [0, 1, 10]";

std::vector<float> PowersOfTwo() {
  std::vector<float> edges;
  for (int power = -32; power <= 63; ++power) edges.push_back(std::ldexp(1.0f, power));
  return edges;
}

std::vector<float> LogSquaredEdges() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> edges = {0.0f, 1.0f, 2.0f, std::nextafter(2.0f, kInfinity)};
  for (int square = 1; square <= 500; ++square) {
    const double edge = std::exp(std::sqrt(square));
    const auto rounded = static_cast<float>(edge);
    const bool is_below = static_cast<double>(rounded) < edge;
    edges.push_back(is_below ? std::nextafter(rounded, kInfinity) : rounded);
  }
  return edges;
}

Result<EdgeRule> ReadListedEdges(const std::string& text) {
  EdgeRule rule;
  for (const std::string& item : SplitAtCommas(text)) {
    const auto number = ReadReal(item);
    const size_t place = rule.edges.size() + 1;
    if (!number || !std::isfinite(static_cast<float>(*number))) {
      return UsageError("edge {} is \"{}\", which is no finite number of 32 bits; {}", place, item,
                        kExpected);
    }
    const auto edge = static_cast<float>(*number);
    if (!rule.edges.empty() && edge <= rule.edges.back()) {
      return UsageError("edge {} is {} and the one before it {}: edges must ascend", place, edge,
                        rule.edges.back());
    }
    rule.edges.push_back(edge);
  }
  if (rule.edges.empty()) return UsageError("{}", kExpected);
  if (rule.max_buckets() > kMaxBuckets) {
    return UsageError("{} edges make more than {} buckets", rule.edges.size(), kMaxBuckets);
  }
  return rule;
}

}  // namespace

Result<EdgeRule> ReadEdges(const std::string& text) {
  constexpr std::string_view kQuantiles = "quantiles(";
  if (text == "log2") return EdgeRule{.edges = PowersOfTwo()};
  if (text == "floor_log_squared") return EdgeRule{.edges = LogSquaredEdges()};
  if (!text.starts_with(kQuantiles)) return ReadListedEdges(text);
  const auto count =
      text.ends_with(')')
          ? ReadWhole(text.substr(kQuantiles.size(), text.size() - kQuantiles.size() - 1))
          : std::nullopt;
  if (!count || *count < 2 || *count > kMaxBuckets) {
    return UsageError("expected quantiles(N) with N from 2 to {}", kMaxBuckets);
  }
  return EdgeRule{.quantiles = *count};
}

bool AreEdges(std::span<const float> edges) {
  return std::ranges::all_of(edges, [](float edge) { return std::isfinite(edge); }) &&
         std::ranges::adjacent_find(edges, std::greater_equal<>()) == edges.end();
}

uint64_t BucketOfNumber(std::span<const float> edges, float number) {
  return static_cast<uint64_t>(std::ranges::upper_bound(edges, number) - edges.begin());
}

// -0 is 0.
uint64_t KeyOfNumber(float number) { return std::bit_cast<uint32_t>(number + 0.0f); }

float NumberOfKey(uint64_t key) { return std::bit_cast<float>(static_cast<uint32_t>(key)); }

Cross::Cross(const Schema& schema, size_t column) {
  const CategoricalColumn& cross = schema.categorical[column];
  CHECK_EQ(cross.cross.size(), parts_.size());
  for (size_t i = 0; i < parts_.size(); ++i) {
    const auto found =
        std::ranges::find(schema.categorical, cross.cross[i], &CategoricalColumn::name);
    CHECK(found != schema.categorical.end());
    parts_[i] = {.column = static_cast<size_t>(found - schema.categorical.begin()),
                 .is_bucket = found->is_bucket(),
                 .edges = found->edge_values};
  }
}

Bags Cross::Of(const Batch& raw) const {
  const Bags& first = raw.features[parts_[0].column];
  const Bags& second = raw.features[parts_[1].column];
  const auto key_of = [](const Part& part, uint64_t key) {
    return part.is_bucket ? BucketOfNumber(part.edges, NumberOfKey(key)) : key;
  };
  Bags bags;
  for (size_t sample = 0; sample < raw.samples; ++sample) {
    for (uint32_t i = first.offsets[sample]; i < first.offsets[sample + 1]; ++i) {
      const uint64_t key = key_of(parts_[0], first.ids[i]);
      for (uint32_t j = second.offsets[sample]; j < second.offsets[sample + 1]; ++j) {
        bags.ids.push_back(MixKey(key, key_of(parts_[1], second.ids[j])));
      }
    }
    bags.EndBag();
  }
  return bags;
}

}  // namespace rowhouse
