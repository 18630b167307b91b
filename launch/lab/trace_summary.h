// TraceSummary: what a trace of ids (worker/data/traces/trace_reader.h) says of each table of a
// model: how often rows are looked up, how skewed, and the miss-ratio curve.
//
// Ids become physical rows as in training (kinds, padding, bad ids); a row counts once a step for
// curves, as it crosses the wire once a step. One pass, in memory that does not grow with the
// trace. Threads: one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"
#include "sharding/cost/miss_ratio_curve.h"
#include "sharding/plans/access_counts.h"
#include "sharding/tables/embedding_tables.h"

namespace rowhouse {

struct TraceOptions {
  uint64_t step_samples = 0;   // of all workers; 0: as recorded, or 2048 if the trace has no steps
  uint64_t max_samples = 0;    // at most; 0: all
  size_t curve_rows = 16'384;  // rows followed of each table, at most; 0: no curves
};

// What is known of a feature, by its logical ids.
struct TracedFeature {
  std::string name;  // of its logical table
  uint64_t bags = 0, empty_bags = 0, lookups = 0, longest_bag = 0;
  double mean_bag() const {
    return bags == 0 ? 0.0 : static_cast<double>(lookups) / static_cast<double>(bags);
  }
};

// Of a physical table. Numbers are scaled where the trace has a sample of the rows.
struct TracedTable {
  std::string name;
  uint64_t rows = 0;
  double sampled = 1;        // share of its rows that the trace has
  double lookups = 0;        // of the trace
  double distinct_rows = 0;  // exact up to 131,072 of them, then within a few per cent
  double pulled_rows = 0;    // sum over steps of the distinct rows of each
  double hottest_share = 0;  // of lookups, of the hottest 1 % of the distinct rows
  double zipf_exponent = 0;  // fitted; NaN: too few rows were looked up often enough
  MissRatioCurve curve;

  double reuse() const { return distinct_rows > 0 ? lookups / distinct_rows : 0.0; }
};

struct TraceSummary {
  std::string path;
  std::string form;  // "recorded", "dlrm_datasets", "text"
  uint64_t samples = 0, steps = 0;
  uint64_t step_samples = 0;
  AccessCounts accesses;                // of each physical table, in their order
  std::vector<TracedTable> tables;      // likewise
  std::vector<TracedFeature> features;  // in the model's order
};

// kUsage, naming what differs, for a trace of other tables, for an id beyond its table (bad_ids),
// for an empty trace, and as OpenTrace.
Result<TraceSummary> ReadTraceSummary(const std::string& path, const EmbeddingTables& tables,
                                      const TraceOptions& options = {});

}  // namespace rowhouse
