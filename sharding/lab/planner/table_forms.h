// TableForms: the ways in which a table can be placed, and about what each costs of a step, so that
// a search can compare them without predicting the whole step.
//
// The costs are sums of the machine's kernels: what every worker does for the table, and what all
// shards together do. They leave out whatever is the same in all forms. Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sharding/lab/cost/machine.h"
#include "sharding/lab/traffic/workload.h"

namespace rowhouse {

struct TableForm {
  bool is_on_workers = false;    // whole, on every worker
  bool pools_on_shards = false;  // else workers pull rows
  bool cuts_columns = false;     // where it is cut; else by rows
  uint64_t units = 1;            // that it can be cut between: rows, or groups of columns
  std::vector<RowId> hot_rows;   // on the workers, ascending; only if workers pool

  double worker_ms = 0;  // a step, of each worker
  double shard_ms = 0;   // a step, of all shards together, answering all workers
  double piece_ms = 0;   // a step, of a shard for each piece, in addition
  double link_ms = 0;    // a step, of a worker's link to other hosts

  // Of a step, if the shards share the work evenly, and no host has more to do than its cores can.
  double even_ms = 0;
  double WholeMs() const { return shard_ms + piece_ms; }  // of a shard that has the whole table
  // Of a shard that has the smallest piece there can be.
  double LeastPieceMs() const { return shard_ms / static_cast<double>(units) + piece_ms; }
};

// What a step looks up in one table.
struct TableUse {
  double lookups = 0;     // of each worker
  double distinct = 0;    // rows of these
  double features = 0;    // that look up here
  double bags = 0;        // of each worker
  double bag_length = 0;  // mean
  bool is_trained = true;
  uint64_t record_bytes = 0;
  double updated = 0;  // distinct rows over all workers
  double missed = 0;   // rows of all workers that a PS node reads from its store
};

class TableForms {
 public:
  // All of them outlive this object. `hot_rows`: of all tables together, at most.
  TableForms(const Workload& workload, const ClusterShape& cluster, const Machine& machine,
             uint32_t hot_rows);

  const TableUse& use(TableId table) const { return uses_[Raw(table)]; }
  // Sets the share of pulled rows that is read from the store, as predicted for some plan; later
  // costs use it. At first all tables have equal caches.
  void SetReadShare(TableId table, double share);

  // Workers pull rows, and have `hot_rows` of them.
  TableForm Rows(TableId table, std::vector<RowId> hot_rows = {}) const;
  // Shards pool bags. Requires MayPool(table).
  TableForm Bags(TableId table) const;
  bool MayPool(TableId table) const { return may_pool_[Raw(table)]; }
  // Whether row ranges of it on several shards could pool parts of its bags; and whether they
  // would have like shares of the lookups.
  bool CanSplitBags(TableId table) const { return can_split_bags_[Raw(table)]; }
  bool MaySplitBags(TableId table) const { return splits_bags_[Raw(table)]; }
  TableForm OnWorkers(TableId table) const;
  bool MustBeOnWorkers(TableId table) const { return workload_.tables.on_workers[Raw(table)]; }
  // True if its columns may be divided.
  bool MayCutColumns(TableId table) const;

  // Rows that had better live on the workers, by access counts; none without counts.
  const std::vector<RowId>& HotRows(TableId table) const { return hot_rows_[Raw(table)]; }

 private:
  const TableSpec& Spec(TableId table) const { return workload_.tables.physical[Raw(table)]; }
  // Milliseconds of one more unit of the kernel's first size, from `size` on.
  double SlopeMs(const std::string& kernel, double size, double second) const;
  double Ms(const std::string& kernel, std::initializer_list<double> sizes) const;
  // Of one worker's bags on a shard or on the worker itself, as PredictStep takes them.
  double BagsMs(TableId table, bool of_shards, double length, double dim) const;
  double RowPullMs(const TableSpec& table, const std::string& side) const;
  double RowPushMs(const TableSpec& table, const std::string& side) const;
  double UpdateMs(const TableSpec& table, double updated) const;
  TableForm WithEvenMs(TableForm form) const;
  // Of a worker's link; pulls and pushes go opposite ways, one after the other.
  double LinkMs(double bytes) const;
  double LocalPoolingMs(TableId table) const;
  // Of rows with records of this many bytes, of all workers.
  double StoreMs(TableId table, double record_bytes) const;
  void CountUses();
  void CheckBags();
  void FindHotRows(uint32_t most);

  const Workload& workload_;
  const ClusterShape& cluster_;
  const Machine& machine_;
  double rows_of_message_ = 1;  // of a worker for a shard, a step
  std::vector<TableUse> uses_;
  std::vector<bool> may_pool_, can_split_bags_, splits_bags_;  // of each table
  std::vector<std::vector<RowId>> hot_rows_;
};

}  // namespace rowhouse
