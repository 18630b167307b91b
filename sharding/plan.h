// Plan: which shard owns which rows and columns. Training routes by it and by nothing else.
//
// A plan is a set of slices; each (row, column) of each table lies in exactly one of them, and
// each slice has one owner. It is the same on every rank and independent of the number of
// workers. Pure data: threads may share a const Plan.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "common/types.h"
#include "sharding/table_spec.h"

namespace rowhouse {

// The owner of a slice that lives on every worker as dense parameters, allreduced in rank order,
// and on no shard. So far of whole tables only.
inline constexpr ShardId kOnWorkers{UINT32_MAX};

// Rows [row_begin, row_end) and columns [column_begin, column_end) of a table.
struct Slice {
  TableId table{};
  uint64_t row_begin = 0;
  uint64_t row_end = 0;
  uint32_t column_begin = 0;
  uint32_t column_end = 0;
  ShardId shard{};

  uint64_t rows() const { return row_end - row_begin; }
  bool operator==(const Slice&) const = default;
};

class Plan {
 public:
  // Empty: no tables, no shards. Only good for being assigned to.
  Plan() = default;

  // kUsage, naming table and rows, unless the slices partition every table. Version 1 of the
  // format keeps rows whole: a slice that cuts columns is refused by name.
  static Result<Plan> Make(const std::vector<TableSpec>& tables, uint32_t shards,
                           std::vector<Slice> slices);

  uint32_t shards() const { return shards_; }
  size_t tables() const { return first_slice_.empty() ? 0 : first_slice_.size() - 1; }

  // The slices of one table, by ascending row.
  std::span<const Slice> slices(TableId table) const;

  // True for a table that lives on the workers.
  bool is_on_workers(TableId table) const;

  // Hex digest of everything that routes: equal plans, equal digests.
  std::string digest() const;

  // Version 2 of the format if a table is on the workers, else version 1.
  nlohmann::json ToJson() const;
  static Result<Plan> FromJson(const nlohmann::json& json, const std::vector<TableSpec>& tables);

 private:
  uint32_t shards_ = 0;
  std::vector<Slice> slices_;        // by table, then row
  std::vector<size_t> first_slice_;  // per table, and one past the end
};

}  // namespace rowhouse
