// The bytes that a plan moves in a step, table by table, expected and without a run: with rows
// merged by workers and with bags pooled by shards, so that an operator can choose.
//
// Ids, access counts, lengths, values and gradients are counted, in both directions. Headers of
// messages are not: they take a few hundred bytes of megabytes. Threads: pure functions.
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
  // Zipf's exponent, >= 0: the k-th most frequent id of a feature has a share ~ k^-exponent. 0: all
  // ids alike, which gives the most distinct rows.
  double zipf_exponent = 0;
};

struct TableTraffic {
  TableId table{};
  double lookups = 0;        // in a step, over all workers
  double distinct_rows = 0;  // on shards, expected; a row that two workers look up counts twice
  double by_rows = 0;        // bytes a step if workers pull and push merged rows
  double by_bags = 0;        // bytes a step if shards pool, with this plan's slices; 0 if refused
  std::string refusal;       // why shards cannot pool it; "" if they can
  bool pools_on_shards = false;

  double planned() const { return pools_on_shards ? by_bags : by_rows; }
};

// One entry for each physical table that is not whole on the workers. Lookups are assumed to be
// independent. Their distribution is that of `accesses`; for tables that are not in it, or if it is
// null, it follows from the step's Zipf exponent. Where several ids share a row, distinct ids are
// assumed to be spread evenly over the rows. Requires a bag length for each feature.
std::vector<TableTraffic> TrafficOf(const EmbeddingTables& tables, const Plan& plan,
                                    const StepShape& step, const AccessCounts* accesses);

// The expected number of distinct rows, not counting `but_for` (ascending), that `lookups` lookups
// of a table of `rows` rows touch. `accesses`: the shares of counted rows and of ranges; null: all
// rows alike.
double ExpectedDistinctRows(uint64_t rows, double lookups, const TableAccesses* accesses,
                            std::span<const RowId> but_for = {});

// The expected number of distinct ids among `lookups` draws by Zipf from `ids` ids, not counting
// the `without` most frequent ones. Takes constant time, and is within 1 % of the sum over all ids.
// Requires without <= ids.
double ExpectedDistinctIds(uint64_t ids, double zipf_exponent, double lookups,
                           uint64_t without = 0);

}  // namespace rowhouse
