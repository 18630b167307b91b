// Plan: which shard owns which rows and columns. Training routes by it and by nothing else.
//
// A table's row order is divided into bands, which are ranges of positions, and the columns of a
// band into slices, each with one owner. So each (row, column) of each table has exactly one owner:
// the owner of its slice, or the workers, if the row is one of the plan's worker_rows. A plan is
// the same on every rank and for every number of workers. Pure data: threads may share a const
// Plan.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "common/types.h"
#include "sharding/plans/row_order.h"
#include "sharding/rows/record.h"
#include "sharding/rows/table_spec.h"

namespace rowhouse {

// The owner of a table that every worker has whole; its gradients join the ordered allreduce.
// Single rows on the workers are TablePlacement::worker_rows.
inline constexpr ShardId kOnWorkers{UINT32_MAX};

// The rows at positions [row_begin, row_end) of a table's row order, and their columns
// [column_begin, column_end). Unless the order is scattered, positions are row numbers.
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

// What a plan says of a table besides its slices.
struct TablePlacement {
  TableId table{};
  RowOrder order;
  std::vector<RowId> worker_rows;  // ascending; on the workers, in whatever slice
  // Shards pool the bags of this table and get gradients of bags; else workers pull rows and pool.
  bool pools_on_shards = false;
  // The part of a shard's cache bytes that the table has on each shard with rows of it, when the
  // shard opens: [0, 1]. A share and not bytes, so that it holds for any size of the caches. It
  // routes nothing and changes no bit. nullopt: an equal part of what others leave
  // (cache_division.h).
  std::optional<double> cache_share = std::nullopt;
};

class Plan {
 public:
  // Without tables and shards; to be assigned to.
  Plan() = default;

  // `placements`: at most one a table; needed for tables whose order is scattered, that have rows
  // on the workers, that shards pool, or that have a cache share. kUsage, naming table and rows, if
  // the slices do not partition every table into bands, if columns are divided elsewhere than at
  // multiples of kColumnsPerCut, or if they are divided in a table whose max_norm or optimizer
  // needs whole rows. kUsage, with table and figure, for cache shares outside [0, 1], of a table on
  // the workers, or that sum to more than 1 on a shard.
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
    std::span<const Slice> cuts;  // its slices, by ascending column
  };
  // The bands of one table, by ascending position.
  std::vector<Band> bands(TableId table) const;

  const RowOrder& order(TableId table) const { return placements_[Raw(table)].order; }

  // True for a table that lives on the workers, whole.
  bool is_on_workers(TableId table) const;
  // The single rows of any other table that live on the workers, ascending.
  const std::vector<RowId>& worker_rows(TableId table) const {
    return placements_[Raw(table)].worker_rows;
  }
  // True if, for any column of the table, the rows of a bag may lie on more than one shard.
  bool splits_bags(TableId table) const;
  bool pools_on_shards(TableId table) const { return placements_[Raw(table)].pools_on_shards; }
  std::vector<bool> pooled_on_shards() const;  // of each table
  std::optional<double> cache_share(TableId table) const {
    return placements_[Raw(table)].cache_share;
  }
  // True if any row of any table lives on the workers.
  bool has_worker_rows() const;

  // The same plan with these cache shares, one for each table; nullopt: none. Otherwise as Make.
  Result<Plan> WithCacheShares(const std::vector<TableSpec>& tables,
                               const std::vector<std::optional<double>>& shares) const;

  // Hex digest of everything that routes: plans that differ at most in cache shares have equal
  // ones.
  std::string digest() const;

  // In the oldest version of the format that can express this plan. In version 1 all rows are whole
  // and on shards. Version 2 adds tables on the workers. Version 3 adds columns that are divided,
  // scattered row orders, single rows on the workers, and pooling on shards. Version 4 adds cache
  // shares.
  nlohmann::json ToJson() const;
  // Reads what ToJson() writes; tables by number or by name. kCorruption, naming the slice or
  // placement, for an unknown key, value or version, and for what the version given in `json` does
  // not have yet. Otherwise as Make. `describe`: how errors name element `index`, from 0, of the
  // list "slices" or "placements"; null: "slice 3".
  using DescribePart = std::function<std::string(const std::string& list, size_t index)>;
  static Result<Plan> FromJson(const nlohmann::json& json, const std::vector<TableSpec>& tables,
                               const DescribePart& describe = nullptr);

 private:
  uint32_t shards_ = 0;
  std::vector<Slice> slices_;               // by table, position, column
  std::vector<size_t> first_slice_;         // per table, and one past the end
  std::vector<TablePlacement> placements_;  // one a table
};

}  // namespace rowhouse
