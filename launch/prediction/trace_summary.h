// TraceSummary: what a trace of ids (worker/data/traces/trace_reader.h) says of each table of a
// model: how often rows are looked up, how skewed, and the miss-ratio curve.
//
// Ids become physical rows as in training (kinds, padding, bad ids); a row counts once a step for
// curves, as it crosses the wire once a step. One pass, in memory that does not grow with the
// trace. Threads: one.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "common/status.h"
#include "sharding/plans/access_counts.h"
#include "sharding/plans/reuse_sampler.h"
#include "sharding/tables/embedding_tables.h"
#include "worker/data/traces/trace_reader.h"

namespace rowhouse {

struct TraceOptions {
  uint64_t step_samples = 0;   // of all workers; 0: as recorded, or 2048 if the trace has no steps
  uint64_t max_samples = 0;    // at most; 0: all
  size_t curve_rows = 16'384;  // rows followed of each table, at most; 0: no curves
};

// What is known of a feature, by its logical ids.
struct TracedFeature {
  std::string name;  // of its logical table
  BagFigures bags;
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
  std::string form;  // "recorded", "text"
  uint64_t samples = 0, steps = 0;
  uint64_t step_samples = 0;
  AccessCounts accesses;                // of each physical table, in their order
  std::vector<TracedTable> tables;      // likewise
  std::vector<TracedFeature> features;  // in the model's order
};

// kUsage, naming what differs, for a trace of other tables, for an id beyond its table (bad_ids),
// for a trace without lookups, and as OpenTrace.
Result<TraceSummary> ReadTraceSummary(const std::string& path, const EmbeddingTables& tables,
                                      const TraceOptions& options = {});

// Plain tables for a trace whose model is not known: as many rows as ids need, of 16 floats. Reads
// the trace once, unless it says how many rows there are. Errors as ReadTraceSummary.
Result<EmbeddingTables> TablesOfTrace(const std::string& path);

// The exponent of a Zipf law through the counts of the hottest rows, by falling count: that whose
// first tenth has the same share of them. Rows with fewer than 16 lookups are left out as noise;
// NaN if fewer than 20 are left.
double FittedZipfExponent(const std::vector<TableAccesses::Row>& hottest);

// The names of features that no sample looks up.
std::vector<std::string> WithoutLookups(const TraceSummary& summary);
// "no lookups of tables page and item"; "": each table has some.
std::string NoLookupsText(const TraceSummary& summary);
// What a prediction notes of its trace: NoLookupsText, that the trace is shorter than a step, and
// of which tables it has only a sample; "": nothing.
std::string TraceNotes(const TraceSummary& summary);

}  // namespace rowhouse
