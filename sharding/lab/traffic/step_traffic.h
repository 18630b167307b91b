// StepTraffic: what the messages of a step hold, expected and without a run: rows, lookups and
// bytes of each shard, as worker/client sends them and ps/shard answers; and TableTraffic: the same
// table by table, with rows merged by workers and with bags pooled by shards.
//
// Frames are counted as the report counts them (wire_bytes_per_step): 64 bytes of header, the body,
// ids, counts and values; not what TCP adds. Threads: pure functions.
#pragma once

#include <string>
#include <vector>

#include "sharding/lab/traffic/workload.h"
#include "sharding/plans/plan.h"

namespace rowhouse {

// Between one worker and one shard, a step.
struct ShardTraffic {
  double rows_pulled = 0;  // a row in two slices counts twice; distinct rows of bags count too
  double rows_pushed = 0;
  double sent_rows = 0;   // of rows_pulled: whose values travel
  double row_floats = 0;  // of those values
  double pushed_sent_rows = 0, pushed_row_floats = 0;
  double updated_rows = 0, updated_floats = 0;  // distinct over all workers; without bags
  double accesses = 0;                          // lookups that end here, before merging
  double row_entries = 0, bag_entries = 0;      // entries of the messages, by kind
  double entries_ahead = 0;                     // entries of a message that announces rows
  double bags = 0, bag_lookups = 0;             // bags that the shard pools, their lookups
  double bag_lookup_floats = 0;                 // sum over bag_lookups of their columns
  double bag_rows = 0;                          // sum over bag lists of their distinct rows
  double pull_request_bytes = 0, pull_reply_bytes = 0;
  double push_request_bytes = 0, push_reply_bytes = 0;
};

// Of one physical table and one worker, a step.
struct TableRowsOfStep {
  double lookups = 0;        // those of rows on the workers included
  double distinct_rows = 0;  // that are pulled from shards
  double cuts = 0;           // slices that a row lies in, on average
  double bytes = 0;          // of ids and values, both ways
};

// Of one slice and one worker, a step.
struct PulledRows {
  TableId table{};
  ShardId shard{};
  double rows = 0;  // part of that shard's rows_pulled
  uint32_t columns = 0;
};

struct StepTraffic {
  std::vector<ShardTraffic> shards;
  std::vector<TableRowsOfStep> tables;  // each physical table
  std::vector<PulledRows> pulled;       // each slice
};

// Requires a plan of the workload's tables, and as many distributions and lookups as tables.
StepTraffic TrafficOfStep(const Workload& workload, const Plan& plan);

// Of one physical table, so that an operator can choose who pools it. Ids, access counts, lengths,
// values and gradients are counted, in both directions. Headers of messages are not: they take a
// few hundred bytes of megabytes.
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

// One entry for each physical table that is not whole on the workers. Requires what TrafficOfStep
// requires.
std::vector<TableTraffic> TrafficOfTables(const Workload& workload, const Plan& plan);

// Adds the messages that tell shards of rows to come (worker/train/lookahead.h), as a share of the
// steps has them.
void AddPrefetches(double share, StepTraffic* traffic);

// Computes workload->by_row from accesses, step and lookups; null without accesses. Tables with
// left_out[t] get none (empty: no table is left out): their rows are taken as equally likely.
void SpreadByRow(Workload* workload, const std::vector<bool>& left_out = {});

// Changes the step, and by_row with it if there is one. Samples are those of all workers.
void SetStep(uint64_t samples, uint32_t workers, Workload* workload);

// The distribution of a table's lookups over its rows that lie on shards; *on_shards: the share of
// all lookups that they have. `scratch` keeps it where it is not the workload's own.
const IdDistribution& DistributionOnShards(const Workload& workload, const Plan& plan,
                                           TableId table, IdDistribution* scratch,
                                           double* on_shards);

}  // namespace rowhouse
