#include "sharding/plans/plan.h"

#include <xxhash.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "common/json_text.h"
#include "sharding/rows/optimizer.h"

namespace rowhouse {
namespace {

Status CheckSlice(const TableSpec& table, uint32_t shards, const Slice& slice) {
  if (slice.row_begin >= slice.row_end) {
    return UsageError("plan: table \"{}\": rows [{}, {}) are no range", table.name, slice.row_begin,
                      slice.row_end);
  }
  if (slice.column_begin >= slice.column_end || slice.column_end > table.dim) {
    return UsageError("plan: table \"{}\": columns [{}, {}) are no range of its {} columns",
                      table.name, slice.column_begin, slice.column_end, table.dim);
  }
  if (slice.shard == kOnWorkers) {
    if (slice.row_begin == 0 && slice.row_end == table.rows && slice.columns() == table.dim) {
      return OkStatus();
    }
    return UsageError(
        "plan: table \"{}\": rows [{}, {}) of {} are on the workers as a slice, which whole tables "
        "only can be; single rows are listed as worker_rows",
        table.name, slice.row_begin, slice.row_end, table.rows);
  }
  if (Raw(slice.shard) >= shards) {
    return UsageError(
        "plan: table \"{}\": rows [{}, {}) belong to shard {}, but there are {} shards", table.name,
        slice.row_begin, slice.row_end, Raw(slice.shard), shards);
  }
  return OkStatus();
}

// A quantity of a whole row (row-wise state, norm) needs the row in one place.
Status CheckCut(const TableSpec& table, const Slice& slice) {
  if (slice.columns() == table.dim) return OkStatus();
  if (slice.column_begin % kColumnsPerCut != 0) {
    return UsageError("plan: table \"{}\": columns are cut at {}; cuts lie at multiples of {}",
                      table.name, slice.column_begin, kColumnsPerCut);
  }
  if (table.max_norm > 0.0) {
    return UsageError(
        "plan: table \"{}\" has max_norm, the norm of a whole row: its columns cannot be cut; "
        "shard it by rows",
        table.name);
  }
  ASSIGN_OR_RETURN(const auto optimizer,
                   Optimizers().Make(table.optimizer, table.optimizer_options));
  if (StateShapeOf(*optimizer).row_floats > 0) {
    return UsageError(
        "plan: table \"{}\": optimizer {} keeps state of a whole row, so that its columns cannot "
        "be cut; shard it by rows, or give it another optimizer",
        table.name, table.optimizer);
  }
  return OkStatus();
}

// `of_table` is sorted by position, then column.
Status CheckTable(const TableSpec& table, uint32_t shards, std::span<const Slice> of_table) {
  uint64_t covered = 0;  // rows of whole bands so far
  for (size_t i = 0; i < of_table.size();) {
    const Slice& first = of_table[i];
    uint32_t columns = 0;
    for (; i < of_table.size() && of_table[i].row_begin == first.row_begin; ++i) {
      const Slice& slice = of_table[i];
      RETURN_IF_ERROR(CheckSlice(table, shards, slice));
      RETURN_IF_ERROR(CheckCut(table, slice));
      if (slice.row_end != first.row_end) {
        return UsageError(
            "plan: table \"{}\": rows [{}, {}) and [{}, {}) overlap; slices that share rows must "
            "share all of them",
            table.name, first.row_begin, first.row_end, slice.row_begin, slice.row_end);
      }
      if (slice.column_begin != columns) {
        return UsageError("plan: table \"{}\", rows [{}, {}): columns [{}, {}) have {}", table.name,
                          slice.row_begin, slice.row_end, std::min(columns, slice.column_begin),
                          std::max(columns, slice.column_begin),
                          slice.column_begin > columns ? "no owner" : "two owners");
      }
      columns = slice.column_end;
    }
    if (columns != table.dim) {
      return UsageError("plan: table \"{}\", rows [{}, {}): columns [{}, {}) have no owner",
                        table.name, first.row_begin, first.row_end, columns, table.dim);
    }
    if (first.row_begin != covered) {
      return UsageError("plan: table \"{}\": rows [{}, {}) have {}", table.name,
                        std::min(covered, first.row_begin), std::max(covered, first.row_begin),
                        first.row_begin > covered ? "no owner" : "two owners");
    }
    covered = first.row_end;
  }
  if (covered != table.rows) {
    return UsageError("plan: table \"{}\": {} rows have owners, the table has {}", table.name,
                      covered, table.rows);
  }
  return OkStatus();
}

Status CheckPlacement(const TableSpec& table, const TablePlacement& placement, bool on_workers) {
  const std::vector<RowId>& rows = placement.worker_rows;
  if (const std::optional<double> share = placement.cache_share) {
    if (!(*share >= 0.0 && *share <= 1.0)) {  // NaN, too
      return UsageError("plan: table \"{}\": cache_share={} must be from 0 to 1", table.name,
                        *share);
    }
    if (on_workers) {
      return UsageError(
          "plan: table \"{}\" is on the workers, whole: cache_share={} has no meaning", table.name,
          *share);
    }
  }
  if (placement.pools_on_shards && (on_workers || !rows.empty())) {
    return UsageError(
        "plan: table \"{}\" has rows on the workers: its bags cannot be pooled on the shards; give "
        "it "
        "pool_on: workers",
        table.name);
  }
  if (rows.empty()) return OkStatus();
  if (on_workers) {
    return UsageError("plan: table \"{}\" is on the workers, whole: worker_rows has no meaning",
                      table.name);
  }
  if (std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>()) != rows.end()) {
    return UsageError("plan: table \"{}\": worker_rows must ascend", table.name);
  }
  if (Raw(rows.back()) >= table.rows) {
    return UsageError("plan: table \"{}\": row {} of worker_rows is beyond its {} rows", table.name,
                      Raw(rows.back()), table.rows);
  }
  return OkStatus();
}

// Of decimals as people write them, whose sum may be 1 but for rounding.
constexpr double kMaxShares = 1.0 + 1e-9;

// On no shard do shares sum to more than 1.
Status CheckCacheShares(const std::vector<TableSpec>& tables, const Plan& plan) {
  std::map<ShardId, double> sums;  // a peer may name any number of shards
  for (const TableSpec& table : tables) {
    const std::optional<double> share = plan.cache_share(table.id);
    if (!share) continue;
    std::set<ShardId> shards;
    for (const Slice& slice : plan.slices(table.id)) shards.insert(slice.shard);
    for (const ShardId shard : shards) {
      double& sum = sums[shard];
      sum += *share;
      if (sum <= kMaxShares) continue;
      return UsageError(
          "plan: table \"{}\": with its cache_share={} the shares on shard {} sum to {:.6g}; they "
          "may sum to 1",
          table.name, *share, Raw(shard), sum);
    }
  }
  return OkStatus();
}

}  // namespace

Result<Plan> Plan::Make(const std::vector<TableSpec>& tables, uint32_t shards,
                        std::vector<Slice> slices, const std::vector<TablePlacement>& placements) {
  std::sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
    return std::tuple(Raw(a.table), a.row_begin, a.column_begin) <
           std::tuple(Raw(b.table), b.row_begin, b.column_begin);
  });
  if (!slices.empty() && Raw(slices.back().table) >= tables.size()) {
    return UsageError("plan: names table {}, but the model has {} tables", Raw(slices.back().table),
                      tables.size());
  }
  Plan plan;
  plan.shards_ = shards;
  plan.slices_ = std::move(slices);
  plan.placements_.resize(tables.size());
  size_t next = 0;
  for (size_t t = 0; t < tables.size(); ++t) {
    plan.placements_[t].table = tables[t].id;
    plan.first_slice_.push_back(next);
    while (next < plan.slices_.size() && Raw(plan.slices_[next].table) == t) ++next;
  }
  plan.first_slice_.push_back(next);
  for (const TableSpec& table : tables) {
    RETURN_IF_ERROR(CheckTable(table, shards, plan.slices(table.id)));
  }
  for (const TablePlacement& placement : placements) {
    const size_t t = Raw(placement.table);
    if (t >= tables.size()) {
      return UsageError("plan: places table {}, but the model has {} tables", t, tables.size());
    }
    RETURN_IF_ERROR(CheckPlacement(tables[t], placement, plan.is_on_workers(placement.table)));
    plan.placements_[t] = placement;
  }
  RETURN_IF_ERROR(CheckCacheShares(tables, plan));
  return plan;
}

Result<Plan> Plan::WithCacheShares(const std::vector<TableSpec>& tables,
                                   const std::vector<std::optional<double>>& shares) const {
  CHECK_EQ(shares.size(), placements_.size());
  std::vector<TablePlacement> placements = placements_;
  for (size_t t = 0; t < placements.size(); ++t) placements[t].cache_share = shares[t];
  return Make(tables, shards_, slices_, placements);
}

std::span<const Slice> Plan::slices(TableId table) const {
  const size_t t = Raw(table);
  CHECK_LT(t + 1, first_slice_.size());
  return std::span(slices_).subspan(first_slice_[t], first_slice_[t + 1] - first_slice_[t]);
}

std::vector<Plan::Band> Plan::bands(TableId table) const {
  const std::span<const Slice> of_table = slices(table);
  std::vector<Band> bands;
  for (size_t i = 0; i < of_table.size();) {
    size_t end = i + 1;
    while (end < of_table.size() && of_table[end].row_begin == of_table[i].row_begin) ++end;
    bands.push_back({.row_begin = of_table[i].row_begin,
                     .row_end = of_table[i].row_end,
                     .cuts = of_table.subspan(i, end - i)});
    i = end;
  }
  return bands;
}

bool Plan::is_on_workers(TableId table) const {
  const std::span<const Slice> of_table = slices(table);
  return !of_table.empty() && of_table.front().shard == kOnWorkers;
}

bool Plan::splits_bags(TableId table) const {
  const std::vector<Band> all = bands(table);
  return std::ranges::any_of(all, [&](const Band& band) {
    return !std::ranges::equal(band.cuts, all.front().cuts, [](const Slice& a, const Slice& b) {
      return a.shard == b.shard && a.column_begin == b.column_begin;
    });
  });
}

std::vector<bool> Plan::pooled_on_shards() const {
  std::vector<bool> pooled;
  for (const TablePlacement& placement : placements_) pooled.push_back(placement.pools_on_shards);
  return pooled;
}

bool Plan::has_worker_rows() const {
  return std::ranges::any_of(placements_, [this](const TablePlacement& placement) {
    return !placement.worker_rows.empty() || is_on_workers(placement.table);
  });
}

std::string Plan::digest() const {
  Plan routes = *this;
  for (TablePlacement& placement : routes.placements_) placement.cache_share.reset();
  const std::string text = DumpJson(routes.ToJson());
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

}  // namespace rowhouse
