#include "launch/regimes/lookup_timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "common/median.h"
#include "common/random.h"

namespace rowhouse {
namespace {

EmbeddingTables OneTable(uint64_t rows, uint32_t dim) {
  LogicalTable table;
  table.name = "rows";
  table.rows = rows;
  table.dim = dim;
  return EmbeddingTables::Make({table}).value();
}

}  // namespace

LookupTiming::LookupTiming(std::span<const float> memory, uint64_t rows, uint32_t dim)
    : rows_(rows), dim_(dim), layer_(OneTable(rows, dim), &no_projections_), bags_(1) {
  CHECK_LE(rows * dim, memory.size());
  layer_.ReadFrom(TableId{0}, memory.first(rows * dim));
}

double LookupTiming::CallNs(uint64_t lookups) {
  Bags& bags = bags_[0];
  bags.clear();
  SplitMix64 random(MixKey(calls_++, rows_));
  for (uint64_t i = 0; i < lookups; ++i) {
    bags.ids.push_back(random.Next() % rows_);
    bags.EndBag();
  }
  out_.resize(lookups * dim_);
  const auto begin = std::chrono::steady_clock::now();
  const Status prepared = layer_.Prepare(bags_);
  layer_.Forward(0, {0, lookups}, out_);
  const std::chrono::duration<double, std::nano> ns = std::chrono::steady_clock::now() - begin;
  CHECK(prepared.ok()) << prepared.ToString();
  return ns.count();
}

double LookupTiming::MedianNs(uint64_t lookups, int calls) {
  CallNs(lookups);
  std::vector<double> times;
  for (int i = 0; i < calls; ++i) times.push_back(CallNs(lookups));
  return MedianOf(times);
}

uint64_t KneeOf(std::span<const TableTime> times) {
  if (times.size() < 2) return 0;
  double least = times[0].ns_per_row;
  for (const TableTime& time : times) least = std::min(least, time.ns_per_row);
  const double most = times.back().ns_per_row;
  if (most < 1.3 * least) return 0;
  const double middle = std::sqrt(least * most);
  for (size_t i = times.size() - 1; i-- > 0;) {
    const TableTime& below = times[i];
    const TableTime& above = times[i + 1];
    if (below.ns_per_row > middle || above.ns_per_row <= middle) continue;
    const double part =
        std::log(middle / below.ns_per_row) / std::log(above.ns_per_row / below.ns_per_row);
    const auto from = static_cast<double>(below.bytes), to = static_cast<double>(above.bytes);
    return static_cast<uint64_t>(from * std::pow(to / from, part));
  }
  return 0;
}

std::vector<TableTime> TimesOverTableSize(std::span<const float> memory, uint32_t dim,
                                          uint64_t lookups) {
  constexpr int kCalls = 15;
  std::vector<TableTime> times;
  for (uint64_t bytes = uint64_t{256} << 10;; bytes *= 2) {
    const bool is_all = bytes >= memory.size_bytes();
    const uint64_t rows = std::min<uint64_t>(bytes, memory.size_bytes()) / (dim * sizeof(float));
    LookupTiming timing(memory, rows, dim);
    // The table comes into the caches, as far as it fits.
    for (uint64_t read = 0; read < std::min<uint64_t>(2 * rows, 100'000); read += lookups) {
      timing.CallNs(lookups);
    }
    times.push_back(
        {.bytes = timing.bytes(),
         .ns_per_row = timing.MedianNs(lookups, kCalls) / static_cast<double>(lookups)});
    if (is_all) return times;
  }
}

}  // namespace rowhouse
