// What a plan moves over the wire in a step, by arithmetic: merged rows against bags pooled on the
// shards, table by table, so that an operator can choose before anything is started.
//
// Counted are ids, lookup counts, lengths, values and gradients, in both directions; not the
// headers of messages (a few hundred bytes a message of megabytes). Threads: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sharding/plans/access_counts.h"
#include "sharding/plans/plan.h"
#include "sharding/tables/embedding_tables.h"

namespace rowhouse {

struct StepShape {
  uint64_t samples = 1;             // over all workers
  uint32_t workers = 1;             // > 0; each merges the rows of its own samples
  std::vector<double> bag_lengths;  // of each feature: mean number of ids, >= 0
  // Ids are drawn by Zipf: the k-th most frequent of a feature as often as k^-exponent, >= 0; 0:
  // all alike. Where it is not known, 0 gives the most distinct rows.
  double zipf_exponent = 0;
};

struct TableTraffic {
  TableId table{};
  double lookups = 0;        // of its rows in a step, over all workers
  double distinct_rows = 0;  // expected of those on shards, a worker's apart from another's
  double by_rows = 0;        // bytes a step if workers pull and push merged rows
  double by_bags = 0;        // bytes a step if shards pool; with the shards and cuts of this plan
  std::string refusal;       // why shards cannot pool it so; "": they can. by_bags is 0 then
  bool pools_on_shards = false;

  double planned() const { return pools_on_shards ? by_bags : by_rows; }
};

// Of every physical table that is not whole on the workers. Lookups are taken to be independent of
// each other, and where nobody counted (`accesses` null, or without the table), as the step's Zipf
// says; of kinds whose rows stand for several ids, the distinct ids are spread evenly over the
// rows. Requires a bag length for each feature.
std::vector<TableTraffic> TrafficOf(const EmbeddingTables& tables, const Plan& plan,
                                    const StepShape& step, const AccessCounts* accesses);

// Rows that `lookups` lookups of a table of `rows` rows touch, without those of `but_for`
// (ascending); with `accesses` (null: none), by the share of each counted row, and of each range
// for the rest.
double ExpectedDistinctRows(uint64_t rows, double lookups, const TableAccesses* accesses,
                            std::span<const RowId> but_for = {});

// The same of `ids` ids that Zipf draws, without the `without` most frequent ones. Within 1 % of
// the sum over all ids, in constant time. Requires without <= ids.
double ExpectedDistinctIds(uint64_t ids, double zipf_exponent, double lookups,
                           uint64_t without = 0);

}  // namespace rowhouse
