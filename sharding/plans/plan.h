// Plan: which shard owns which rows and columns. Training routes by it and by nothing else.
//
// A table's rows are dealt, in its row order, into bands: ranges of positions. The columns of a
// band are cut into slices, each with one owner. So each (row, column) of each table has exactly
// one owner: the owner of its slice, unless its row is one of those that live on the workers. A
// plan is the same on every rank and independent of the number of workers. Pure data: threads may
// share a const Plan.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "common/types.h"
#include "sharding/plans/row_order.h"
#include "sharding/rows/record.h"
#include "sharding/tables/table_spec.h"

namespace rowhouse {

// The owner of a slice that lives on every worker as dense parameters, allreduced in rank order,
// and on no shard. Of whole tables only; single rows: TablePlacement::worker_rows.
inline constexpr ShardId kOnWorkers{UINT32_MAX};

// The rows at positions [row_begin, row_end) of a table's row order, and their columns
// [column_begin, column_end). Where the order is as numbered, positions are rows.
struct Slice {
  TableId table{};
  uint64_t row_begin = 0;
  uint64_t row_end = 0;
  uint32_t column_begin = 0;
  uint32_t column_end = 0;
  ShardId shard{};

  uint64_t rows() const { return row_end - row_begin; }
  uint32_t columns() const { return column_end - column_begin; }
  bool operator==(const Slice&) const = default;
};

// What a plan says of a table beside its slices.
struct TablePlacement {
  TableId table{};
  RowOrder order;
  std::vector<RowId> worker_rows;  // ascending; live on the workers whatever slice they lie in
  // Shards pool bags of this table and take gradients of bags; else workers pull rows and pool.
  bool pools_on_shards = false;
};

class Plan {
 public:
  // Empty: no tables, no shards. Only good for being assigned to.
  Plan() = default;

  // `placements`: of tables that are not placed as numbered, have rows on the workers or are pooled
  // on the shards; one a table at most. kUsage,
  // naming table and rows, unless the slices partition every table into bands; if a cut is not at
  // a multiple of kColumnsPerCut; and if columns of a table are cut that has max_norm or an
  // optimizer with state of the whole row, which need a row in one place.
  static Result<Plan> Make(const std::vector<TableSpec>& tables, uint32_t shards,
                           std::vector<Slice> slices,
                           const std::vector<TablePlacement>& placements = {});

  uint32_t shards() const { return shards_; }
  size_t tables() const { return first_slice_.empty() ? 0 : first_slice_.size() - 1; }

  // The slices of one table, by ascending position, then column.
  std::span<const Slice> slices(TableId table) const;

  // Slices that hold the same rows.
  struct Band {
    uint64_t row_begin = 0;
    uint64_t row_end = 0;
    std::span<const Slice> cuts;  // by ascending column
  };
  // The bands of one table, by ascending position.
  std::vector<Band> bands(TableId table) const;

  const RowOrder& order(TableId table) const { return placements_[Raw(table)].order; }

  // True for a table that lives on the workers, whole.
  bool is_on_workers(TableId table) const;
  // Single rows of another table that do, ascending.
  const std::vector<RowId>& worker_rows(TableId table) const {
    return placements_[Raw(table)].worker_rows;
  }
  // True if the rows of a bag may lie on more than one shard, for any of its columns.
  bool splits_bags(TableId table) const;
  bool pools_on_shards(TableId table) const { return placements_[Raw(table)].pools_on_shards; }
  std::vector<bool> pooled_on_shards() const;  // of each table
  // True if any row of any table lives on the workers.
  bool has_worker_rows() const;

  // Hex digest of everything that routes: equal plans, equal digests.
  std::string digest() const;

  // The oldest version of the format that can say it: 1 keeps rows whole and on shards, 2 knows
  // tables on the workers, 3 cuts of columns, row orders, single rows on the workers and
  // pooling on the shards.
  nlohmann::json ToJson() const;
  // Tables by number or by name. kCorruption for what is no plan; otherwise as Make.
  static Result<Plan> FromJson(const nlohmann::json& json, const std::vector<TableSpec>& tables);

 private:
  uint32_t shards_ = 0;
  std::vector<Slice> slices_;               // by table, position, column
  std::vector<size_t> first_slice_;         // per table, and one past the end
  std::vector<TablePlacement> placements_;  // one a table
};

}  // namespace rowhouse
