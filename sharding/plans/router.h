// Router: which shards own the rows and bags of a batch, by a plan. A pure function of plan, table
// and ids: nothing is sent here.
//
// Threads: const after construction; threads may share one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/types.h"
#include "sharding/plans/plan.h"

namespace rowhouse {

// What one shard owns of the rows of a batch: columns [first_column, first_column + columns) of the
// rows at places [begin, end) of RoutedRows.
struct RoutedPiece {
  ShardId shard{};
  size_t begin = 0, end = 0;
  uint32_t first_column = 0, columns = 0;

  bool operator==(const RoutedPiece&) const = default;
};

// The rows of a batch, sorted into the bands of their table. Rows that live on the workers have no
// place.
struct RoutedRows {
  std::vector<uint32_t> rows;  // place p holds row rows[p] of the batch; if empty, row p
  std::vector<RoutedPiece> pieces;

  size_t RowAt(size_t place) const { return rows.empty() ? place : rows[place]; }
};

// What one shard pools of the bags of a batch: columns [first_column, first_column + columns) of
// the lookups whose rows it owns.
struct RoutedBags {
  ShardId shard{};
  uint32_t first_column = 0, columns = 0;
  // The lookups that the shard pools are numbered from 0. If is_whole, the shard owns these columns
  // of all rows, and lookup i of the shard is lookup i of the batch. Otherwise lookup i of the
  // shard is lookup lookups[i] of the batch, and `lookups` ascends.
  bool is_whole = true;
  std::vector<uint32_t> lookups;
  std::vector<uint32_t> offsets;  // bags + 1; bag b has lookups [offsets[b], offsets[b + 1])

  size_t PlaceOf(size_t lookup) const { return is_whole ? lookup : lookups[lookup]; }
  uint32_t LookupsOf(size_t first_bag, size_t end_bag) const {
    return offsets[end_bag] - offsets[first_bag];
  }
};

class Router {
 public:
  explicit Router(const Plan& plan);
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  const Plan& plan() const { return plan_; }

  // `rows` ascend. Overwrites *routed without giving memory back: the pieces by band, then first
  // column. A table that lives on the workers has none. Takes O(bands * log(rows)) where the plan
  // keeps rows in order and on shards, else O(rows * log(bands)).
  void RouteRows(TableId table, std::span<const RowId> rows, RoutedRows* routed) const;

  // Bag b looks up rows [offsets[b], offsets[b + 1]) of `rows`. If the rows of a bag always lie on
  // one shard, there is one entry for each range of columns, with is_whole true. Otherwise all
  // slices with the same shard and first column share one entry. Entries come in the order of the
  // first slice of each.
  std::vector<RoutedBags> RouteBags(TableId table, std::span<const uint32_t> offsets,
                                    std::span<const uint64_t> rows) const;

 private:
  struct Table {
    std::vector<Plan::Band> bands;
    bool splits_bags = false;
  };

  static size_t BandOf(const std::vector<Plan::Band>& bands, uint64_t position);
  void RouteInOrder(const Table& table, std::span<const RowId> rows, RoutedRows* routed) const;
  void RouteScattered(TableId table, std::span<const RowId> rows, RoutedRows* routed) const;

  const Plan plan_;
  std::vector<Table> tables_;
};

}  // namespace rowhouse
