#include "sharding/cost/cpu_lookup.h"

#include <algorithm>
#include <cmath>

namespace rowhouse {

double CpuLineBytes(double bytes) { return std::ceil(bytes / 64) * 64; }

CpuLookupCost CpuLookupForward(const CpuLookup& lookup, const CpuMemory& memory) {
  const double lookups = lookup.samples * lookup.bag_length;  // of a table
  const double row = CpuLineBytes(double{1} * lookup.dim * lookup.element_bytes);
  const double distinct = lookup.distinct_rows ? *lookup.distinct_rows
                          : lookup.rows <= 1
                              ? std::min(1.0, lookups)
                              : -lookup.rows * std::expm1(lookups * std::log1p(-1 / lookup.rows));
  const double cached = std::floor(0.9 * memory.llc_bytes / lookup.tables / row);
  const double misses = distinct <= cached
                            ? distinct
                            : cached + (lookups - cached) * (lookup.rows - cached) / lookup.rows;
  CpuLookupCost cost;
  cost.miss_rows = misses * lookup.tables;
  const double results = lookup.samples * lookup.tables *
                         (CpuLineBytes(8 * lookup.bag_length) + CpuLineBytes(4.0 * lookup.dim));
  cost.dram_bytes = cost.miss_rows * row + results;
  cost.dram_us = cost.dram_bytes / memory.dram_gbs / 1e3;
  cost.llc_us = (lookups * lookup.tables - cost.miss_rows) * row / memory.llc_gbs / 1e3;
  cost.latency_us =
      cost.miss_rows * memory.latency_ns / 1e3 / (memory.outstanding_misses * lookup.threads);
  cost.us = std::max({cost.dram_us, cost.llc_us, cost.latency_us}) + memory.call_us;
  return cost;
}

double CpuUpdateBytes(double distinct_rows, uint32_t row_bytes, uint32_t state_bytes) {
  return distinct_rows * 2 * (CpuLineBytes(row_bytes) + CpuLineBytes(state_bytes));
}

}  // namespace rowhouse
