// What `rowhouse bench regime` measured, from which the classes follow; and its file.
//
// JSON, format 1: {"rowhouse_regimes": 1, "host", "cpu", "cores", "measured_at",
// "effective_cache_bytes", "lookup_time_by_table": [{"bytes", "ns_per_row"}], "lookups": {"rows",
// "dram_256_ns", "cache_256_ns", "cache_8_ns", "dram_table_bytes", "ratio_256_to_256",
// "ratio_256_to_8", "dram_gbs", "cache_gbs", "call_ns"}, "configs": [{"name", "place",
// "table_bytes", "batch", "step_us", "step_spread", "one_sample_us", "shares": {"lookups", "mlp",
// "wire", "other"}, "lookup_gbs", "by_row_width": [{"width", "step_us"}], "by_mlp_width": [...],
// "class", "why"}]}. What was not measured (step_spread, one_sample_us, lookup_gbs, the widths) is
// left out. Threads: plain data.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "common/status.h"
#include "launch/regimes/lookup_timing.h"

namespace rowhouse {

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

nlohmann::ordered_json EvidenceToJson(const RegimeEvidence& evidence);
// kUsage, naming the key, for other JSON and for a newer format.
Result<RegimeEvidence> EvidenceFromJson(const nlohmann::json& json);

std::string EvidenceText(const RegimeEvidence& evidence);

}  // namespace rowhouse
