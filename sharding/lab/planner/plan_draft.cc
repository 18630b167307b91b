#include "sharding/lab/planner/plan_draft.h"

#include <xxhash.h>

#include <algorithm>
#include <cmath>

#include "common/counted.h"
#include "common/random.h"
#include "sharding/plans/plan_load.h"
#include "sharding/plans/plan_maker.h"
#include "sharding/plans/strategy.h"
#include "sharding/rows/optimizer.h"
#include "sharding/rows/record_weights.h"

namespace rowhouse {
namespace {

constexpr double kUnitsOfMs = 1e9;           // the search counts picoseconds
constexpr uint64_t kBytesOfAUnit = 1 << 14;  // so that rows that nobody looks up are spread too
constexpr uint64_t kMaxLoad = uint64_t{1} << 52;  // of an item: sums stay below 2^63

uint64_t Units(double ms) {
  return static_cast<uint64_t>(std::clamp(ms * kUnitsOfMs, 0.0, static_cast<double>(kMaxLoad)));
}

uint64_t BytesOf(const TableSpec& table, const TableForm& form) {
  uint64_t record = RecordBytes(table);
  if (form.cuts_columns) {  // Every piece of a record has its own trailer.
    const auto optimizer = Optimizers().Make(table.optimizer, table.optimizer_options).value();
    record = form.units * LayoutOf(table, *optimizer, kColumnsPerCut).bytes();
  }
  const auto bytes = static_cast<double>(table.rows) * static_cast<double>(record);
  return static_cast<uint64_t>(std::min(bytes, 0x1p62 / 4096));
}

std::string Mib(double bytes) { return fmt::format("{:.1f} MiB", bytes / (1 << 20)); }

Status Refusal(const Workload& workload, const ClusterShape& cluster, const NodeLimits& limits,
               const std::vector<LoadItem>& items, const std::vector<TableId>& tables,
               const LoadRefusal& refusal) {
  double all = 0;
  for (const LoadItem& item : items) all += static_cast<double>(item.bytes);
  const TableSpec& table = workload.tables.physical[Raw(tables[refusal.item])];
  const auto limit = static_cast<double>(limits.row_bytes);
  constexpr uint64_t kNothing = (1 << 20) / 20;  // would be 0.0 MiB
  const std::string why =
      refusal.is_there < kNothing
          ? "every PS node is full"
          : fmt::format("the PS node with most room left has {}, {} too little",
                        Mib(static_cast<double>(refusal.is_there)),
                        Mib(static_cast<double>(refusal.needs - refusal.is_there)));
  const std::string all_together =
      fmt::format("all tables on shards take {}, {} of {} hold {}", Mib(all),
                  Counted(cluster.ps, "PS node"), Mib(limit), Mib(limit * cluster.ps));
  const double least = std::ceil(all / cluster.ps / (1 << 20));
  const bool is_too_little = all > limit * cluster.ps;
  return UsageError(
      "PS nodes of {} of {}: table \"{}\" of {} does not fit: {} of it are left over, and {} "
      "({}); {}",
      Mib(limit), limits.what, table.name, Mib(static_cast<double>(items[refusal.item].bytes)),
      Mib(static_cast<double>(refusal.needs)), why, all_together,
      is_too_little
          ? fmt::format("use at least {} or a limit of at least {:.0f} MiB",
                        Counted(static_cast<uint32_t>(std::ceil(all / limit)), "PS node"), least)
          : "raise the limit, or allow tables to be divided");
}

// Whole tables are tried on this many shards.
constexpr uint32_t kMaxShardsToTry = 16;

// The row order of tables that the planner divides by rows: the same for a table of one name.
RowOrder ScatteredOrderOf(const TableSpec& table) {
  const uint64_t name = XXH3_64bits(table.name.data(), table.name.size());
  return RowOrder::Scattered(table.rows, MixKey(StrategyOptions().seed, name));
}

TableParts PartsWhole(const TableSpec& table, ShardId shard) {
  return {.slices = {WholeTable(table, shard)}, .placement = {.table = table.id}};
}

TableParts PartsOnWorkers(const TableSpec& table) { return PartsWhole(table, kOnWorkers); }

// Equal ranges of rows, for each shard one, in a scattered order.
TableParts PartsByRows(const TableSpec& table, uint32_t shards) {
  TableParts parts{.slices = {},
                   .placement = {.table = table.id, .order = ScatteredOrderOf(table)}};
  const std::vector<uint64_t> cuts = CutsByCapacity(table.rows, {.shards = shards});
  for (uint32_t s = 0; s < shards; ++s) {
    if (cuts[s] == cuts[s + 1]) continue;
    Slice slice = WholeTable(table, ShardId{s});
    slice.row_begin = cuts[s];
    slice.row_end = cuts[s + 1];
    parts.slices.push_back(slice);
  }
  return parts;
}

// Ranges of columns, as many as there can be, at most one a shard, from shard `first` on.
TableParts PartsByColumns(const TableSpec& table, uint32_t shards, uint32_t first) {
  TableParts parts{.slices = {}, .placement = {.table = table.id}};
  const std::vector<uint32_t> cuts = ColumnCuts(table.dim, shards);
  for (uint32_t p = 0; p + 1 < cuts.size(); ++p) {
    Slice slice = WholeTable(table, ShardId{(first + p) % shards});
    slice.column_begin = cuts[p];
    slice.column_end = cuts[p + 1];
    parts.slices.push_back(slice);
  }
  return parts;
}

TableParts PartsOf(const TableSpec& table, const TableForm& form,
                   const std::vector<LoadPiece>& pieces) {
  TableParts parts{.slices = {},
                   .placement = {.table = table.id,
                                 .order = {},
                                 .worker_rows = form.hot_rows,
                                 .pools_on_shards = form.pools_on_shards}};
  for (const LoadPiece& piece : pieces) {
    Slice slice = WholeTable(table, ShardId{piece.rank});
    if (form.cuts_columns) {
      slice.column_begin = static_cast<uint32_t>(piece.begin) * kColumnsPerCut;
      slice.column_end = std::min(table.dim, static_cast<uint32_t>(piece.end) * kColumnsPerCut);
    } else if (pieces.size() > 1) {
      slice.row_begin = piece.begin;
      slice.row_end = piece.end;
      parts.placement.order = ScatteredOrderOf(table);
    }
    parts.slices.push_back(slice);
  }
  return parts;
}

}  // namespace

PlanByTable::PlanByTable(const Plan& plan) {
  for (uint32_t t = 0; t < plan.tables(); ++t) {
    const TableId table{t};
    const auto slices = plan.slices(table);
    tables_.push_back({.slices = {slices.begin(), slices.end()},
                       .placement = {.table = table,
                                     .order = plan.order(table),
                                     .worker_rows = plan.worker_rows(table),
                                     .pools_on_shards = plan.pools_on_shards(table),
                                     .cache_share = plan.cache_share(table)}});
  }
}

Result<Plan> PlanByTable::ToPlan(const EmbeddingTables& tables, uint32_t shards) const {
  std::vector<Slice> slices;
  std::vector<TablePlacement> placements;
  for (const TableParts& table : tables_) {
    slices.insert(slices.end(), table.slices.begin(), table.slices.end());
    placements.push_back(table.placement);
  }
  ASSIGN_OR_RETURN(Plan plan, Plan::Make(tables.physical, shards, std::move(slices), placements));
  RETURN_IF_ERROR(CheckPoolingOnShards(tables, plan));
  return plan;
}

PlanByTable TablePlaces::Pooled(const Plan& plan, bool only_where_better) const {
  PlanByTable parts(plan);
  for (const TableSpec& table : workload_.tables.physical) {
    TablePlacement& placement = parts.tables()[Raw(table.id)].placement;
    const bool is_possible = !plan.is_on_workers(table.id) && placement.worker_rows.empty() &&
                             forms_.MayPool(table.id) &&
                             (!plan.splits_bags(table.id) || forms_.CanSplitBags(table.id));
    placement.pools_on_shards =
        is_possible && (!only_where_better || workload_.tables.pool_on[Raw(table.id)] == "shards" ||
                        forms_.Bags(table.id).even_ms < forms_.Rows(table.id).even_ms);
  }
  return parts;
}

bool TablePlaces::IsAllowed(const TableSpec& table, const TableParts& parts) const {
  const TablePlacement& placement = parts.placement;
  if (parts.is_on_workers()) {
    return (options_.may_replicate || forms_.MustBeOnWorkers(table.id)) &&
           workload_.tables.pool_on[Raw(table.id)] != "shards";
  }
  if (forms_.MustBeOnWorkers(table.id)) return false;
  if (!options_.may_split && parts.slices.size() > 1) return false;
  if (workload_.tables.pool_on[Raw(table.id)] == "shards" && !placement.pools_on_shards) {
    return !forms_.MayPool(table.id);
  }
  if (!placement.pools_on_shards) return true;
  const bool by_rows = parts.slices.size() > 1 && parts.slices[0].rows() < table.rows;
  return options_.may_pool_on_shards && forms_.MayPool(table.id) && placement.worker_rows.empty() &&
         (!by_rows || forms_.MaySplitBags(table.id));
}

void TablePlaces::AddPooled(const TableSpec& table, TableParts parts,
                            std::vector<TableParts>* places) const {
  for (const bool pools : {false, true}) {
    parts.placement.pools_on_shards = pools;
    if (IsAllowed(table, parts)) places->push_back(parts);
  }
}

std::vector<TableParts> TablePlaces::Of(const TableSpec& table, const TableParts* now) const {
  std::vector<TableParts> places;
  if (IsAllowed(table, PartsOnWorkers(table))) places.push_back(PartsOnWorkers(table));
  if (now != nullptr && !now->is_on_workers()) {
    TableParts other = *now;
    other.placement.worker_rows.clear();
    AddPooled(table, other, &places);
  }
  for (uint32_t s = 0; s < std::min(shards_, kMaxShardsToTry); ++s) {
    AddPooled(table, PartsWhole(table, ShardId{s}), &places);
  }
  if (shards_ > 1) {
    AddPooled(table, PartsByRows(table, shards_), &places);
    if (forms_.MayCutColumns(table.id)) {
      AddPooled(table, PartsByColumns(table, shards_, Raw(table.id) % shards_), &places);
    }
  }
  if (!forms_.HotRows(table.id).empty()) {
    TableParts hot = now != nullptr && !now->is_on_workers() ? *now : PartsByRows(table, shards_);
    hot.placement.pools_on_shards = false;
    hot.placement.worker_rows = forms_.HotRows(table.id);
    if (IsAllowed(table, hot)) places.push_back(hot);
  }
  return places;
}

Result<PlanByTable> DraftPlan(const Workload& workload, const ClusterShape& cluster,
                              const NodeLimits& limits, const std::vector<TableForm>& forms,
                              bool may_cut) {
  std::vector<LoadItem> items;
  std::vector<TableId> tables;
  for (const TableSpec& table : workload.tables.physical) {
    const TableForm& form = forms[Raw(table.id)];
    if (form.is_on_workers) continue;
    const uint64_t bytes = BytesOf(table, form);
    items.push_back({.load = Units(form.shard_ms) + bytes / kBytesOfAUnit,
                     .piece_load = Units(form.piece_ms),
                     .bytes = bytes,
                     .units = form.units});
    tables.push_back(table.id);
  }
  const LoadLimits load_limits{.ranks = cluster.ps * cluster.shards_per_ps,
                               .ranks_per_node = cluster.shards_per_ps,
                               .node_bytes = limits.row_bytes};
  const LoadPlacement placement = SearchPlacement(items, load_limits, {.may_cut = may_cut});
  if (placement.refusal) {
    return Refusal(workload, cluster, limits, items, tables, *placement.refusal);
  }
  std::vector<std::vector<LoadPiece>> pieces(forms.size());
  for (const LoadPiece& piece : placement.pieces) {
    pieces[Raw(tables[piece.item])].push_back(piece);
  }
  std::vector<TableParts> parts;
  for (const TableSpec& table : workload.tables.physical) {
    const TableForm& form = forms[Raw(table.id)];
    parts.push_back(form.is_on_workers ? PartsOnWorkers(table)
                                       : PartsOf(table, form, pieces[Raw(table.id)]));
  }
  return PlanByTable(std::move(parts));
}

std::vector<double> RowBytesOfNodes(const Workload& workload, const Plan& plan,
                                    uint32_t shards_per_ps) {
  std::vector<double> bytes(plan.shards() / shards_per_ps);
  const PlanLoad load = LoadOf(workload.tables.physical, plan, nullptr);
  for (size_t s = 0; s < load.shards.size(); ++s) bytes[s / shards_per_ps] += load.shards[s].bytes;
  return bytes;
}

}  // namespace rowhouse
