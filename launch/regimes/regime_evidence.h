// What `rowhouse bench regime` measured, its file, and the rules by which figures make a class. The
// rules are those of Micro-DLRM's contract: a DRAM-bound step spends more than 70 % on lookups of a
// table of at least 20 times the effective cache, its time is linear in the width of rows and flat
// in that of the MLPs; a compute-bound one spends more than 80 % on the MLPs.
//
// JSON, format 1: {"rowhouse_regimes": 1, "host", "cpu", "cores", "measured_at",
// "effective_cache_bytes", "lookup_time_by_table": [{"bytes", "ns_per_row"}], "lookups": {"rows",
// "dram_256_ns", "cache_256_ns", "cache_8_ns", "dram_table_bytes", "ratio_256_to_256",
// "ratio_256_to_8", "dram_gbs", "cache_gbs", "call_ns"}, "configs": [{"name", "place",
// "table_bytes", "batch", "step_us", "step_spread", "one_sample_us", "shares": {"lookups", "mlp",
// "wire", "other"}, "lookup_gbs", "by_row_width": [{"width", "step_us"}], "by_mlp_width": [...],
// "class", "why"}]}. What was not measured (step_spread, one_sample_us, lookup_gbs, the widths) is
// left out. Threads: plain data, pure functions.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"

namespace rowhouse {

// The time of lookups over the size of their table.
struct TableTime {
  uint64_t bytes = 0;
  double ns_per_row = 0;
};

// The table size at which the time of a row is the geometric mean of its times in small and in
// large tables, by interpolation in logarithms. 0 if large tables take less than 1.3 times as long
// as small ones: there is no knee. `times`: by ascending size.
uint64_t KneeOf(std::span<const TableTime> times);

// Medians over the same samples, nanoseconds for a row of one call.
struct LookupFigures {
  uint64_t rows = 0;  // of a call
  double dram_256_ns = 0, cache_256_ns = 0, cache_8_ns = 0;
  uint64_t dram_table_bytes = 0;
  double call_ns = 0;  // of a call without rows, by extrapolation

  double ratio_256_to_256() const { return dram_256_ns / cache_256_ns; }
  double ratio_256_to_8() const { return dram_256_ns / cache_8_ns; }
  double dram_gbs() const { return 1024.0 / dram_256_ns; }
  double cache_gbs() const { return 1024.0 / cache_256_ns; }
};

struct WidthTime {
  double width = 0;    // floats of a row, or times the widths of hidden layers
  double step_us = 0;  // median
};

// Micro-DLRM's term for what bounds a step.
enum class Regime { kDram, kCache, kCompute, kWire, kCall, kMixed };
std::string RegimeName(Regime regime);  // "DRAM-bound", ..., "mixed"

struct ConfigEvidence {
  std::string name;   // "micro_dlrm"
  std::string place;  // "in process", "through a shard"
  uint64_t table_bytes = 0;
  uint64_t batch = 0;
  double step_us = 0;        // median
  double step_spread = 0;    // of the medians of rounds, as a share of step_us; 0: one round
  double one_sample_us = 0;  // of a step of one sample; 0: not measured
  double lookups = 0, mlp = 0, wire = 0, other = 0;  // shares of the step
  // Bytes of looked-up rows over the time of all that is done for lookups; 0: not measured.
  double lookup_gbs = 0;
  std::vector<WidthTime> by_row_width, by_mlp_width;
  std::string regime, why;
};

struct RegimeEvidence {
  std::string host, cpu, measured_at;
  uint32_t cores = 1;
  uint64_t effective_cache_bytes = 0;
  std::vector<TableTime> by_table;
  LookupFigures lookups;
  std::vector<ConfigEvidence> configs;
};

nlohmann::ordered_json EvidenceToJson(RegimeEvidence evidence);
// kUsage, naming the key, for other JSON and for a newer format.
Result<RegimeEvidence> EvidenceFromJson(const nlohmann::json& json);

std::string EvidenceText(const RegimeEvidence& evidence);

// ---- The rules ----------------------------------------------------------------------------------

inline constexpr double kDramShare = 0.70;      // of lookups, at least
inline constexpr double kDramTables = 20.0;     // times the effective cache, at least
inline constexpr double kComputeShare = 0.80;   // of the MLPs, at least
inline constexpr double kCacheShare = 0.50;     // of lookups
inline constexpr double kWireShare = 0.50;      // of pull and push
inline constexpr double kCallShare = 0.50;      // of what a step of one sample takes already
inline constexpr double kLinearFit = 0.95;      // R^2 of a line through the times, at least
inline constexpr double kFlatGrowth = 0.15;     // of the time, when MLPs are twice as wide
inline constexpr double kShareTolerance = 0.1;  // medians of shares need not sum to 1
inline constexpr double kSameStep = 2.0;        // largest ratio of two steps' times, either way
inline constexpr double kLookupRatio = 3.0;     // DRAM to cache, 256 floats on both sides, at least

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
