// The rules by which measured figures make a class. They are those of Micro-DLRM's contract: a
// DRAM-bound step spends more than 70 % on lookups of a table of at least 20 times the effective
// cache, its time is linear in the width of rows and flat in that of the MLPs; a compute-bound one
// spends more than 80 % on the MLPs.
//
// Threads: pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "launch/regimes/regime_evidence.h"

namespace rowhouse {

inline constexpr double kDramShare = 0.70;      // of lookups, at least
inline constexpr double kDramTables = 20.0;     // times the effective cache, at least
inline constexpr double kComputeShare = 0.80;   // of the MLPs, at least
inline constexpr double kCacheShare = 0.50;     // of lookups
inline constexpr double kWireShare = 0.50;      // of pull and push
inline constexpr double kCallShare = 0.50;      // of what a step of one sample takes already
inline constexpr double kLinearFit = 0.95;      // R^2 of a line through the times, at least
inline constexpr double kFlatGrowth = 0.15;     // of the time, when MLPs are twice as wide
inline constexpr double kShareTolerance = 0.1;  // medians of shares need not sum to 1
inline constexpr double kSameStep = 2.0;  // a step of a sweep is that of the config, times so much
inline constexpr double kLookupRatio = 3.0;  // DRAM to cache, 256 floats on both sides, at least

struct RegimeClass {
  Regime regime = Regime::kMixed;
  std::string why;  // "lookups 81 % of the step; ..."
};
RegimeClass ClassOf(const ConfigEvidence& config, uint64_t effective_cache_bytes);

// R^2 of the line of least squares through the points.
double LinearFitOf(std::span<const WidthTime> times);
// By how much the time grows from width 1 to width 2, as a share; nullopt if they were not
// measured.
std::optional<double> GrowthOf(std::span<const WidthTime> times);

// What in the evidence contradicts itself or its classes, or makes the experiment invalid: one line
// each. Shares have to make up a step, the cache to be the knee of the times over table size,
// and the sweeps over widths to be of steps like the one stated.
std::vector<std::string> Contradictions(const RegimeEvidence& evidence);

// Where this machine does not bear out the original's contract, by which micro_dlrm is
// compute-bound and micro_dlrm_dram is DRAM-bound: one line each.
std::vector<std::string> ContractMisses(const RegimeEvidence& evidence);

}  // namespace rowhouse
