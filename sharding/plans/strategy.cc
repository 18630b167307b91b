#include "sharding/plans/strategy.h"

#include <glog/logging.h>

#include <algorithm>

#include "sharding/rows/optimizer.h"
#include "sharding/rows/record_weights.h"

namespace rowhouse {

StrategyRegistry& ShardingStrategies() {
  static auto& registry = *new StrategyRegistry("sharding strategy");
  return registry;
}

Slice WholeTable(const TableSpec& table, ShardId shard) {
  return {.table = table.id,
          .row_begin = 0,
          .row_end = table.rows,
          .column_begin = 0,
          .column_end = table.dim,
          .shard = shard};
}

uint64_t RecordBytes(const TableSpec& table) {
  const auto optimizer = Optimizers().Make(table.optimizer, table.optimizer_options).value();
  return LayoutOf(table, *optimizer).bytes();
}

uint64_t TableBytesOf(const TableSpec& table) {
  uint64_t bytes = 0;
  return __builtin_mul_overflow(table.rows, RecordBytes(table), &bytes) ? UINT64_MAX : bytes;
}

std::vector<uint64_t> CutsByCapacity(uint64_t total, const StrategyRequest& request) {
  uint64_t all = 0, before = 0;
  for (uint32_t s = 0; s < request.shards; ++s) all += request.capacity(s);
  std::vector<uint64_t> cuts = {0};
  for (uint32_t s = 0; s < request.shards; ++s) {
    before += request.capacity(s);
    // 128 bits, because the product may pass 2^64.
    cuts.push_back(static_cast<uint64_t>(static_cast<unsigned __int128>(total) * before / all));
  }
  return cuts;
}

std::vector<uint32_t> ColumnCuts(uint32_t dim, uint32_t pieces) {
  const uint32_t units = (dim + kColumnsPerCut - 1) / kColumnsPerCut;
  pieces = std::clamp<uint32_t>(pieces, 1, units);
  std::vector<uint32_t> cuts = {0};
  for (uint32_t p = 0; p < pieces; ++p) {
    const uint32_t mine = units / pieces + (p < units % pieces ? 1 : 0);
    cuts.push_back(std::min(dim, cuts.back() + mine * kColumnsPerCut));
  }
  return cuts;
}

Status CheckColumnCuts(const StrategyRequest& request) {
  const TableSpec* widest = nullptr;
  for (const TableSpec& table : request.tables) {
    if (widest == nullptr || table.dim > widest->dim) widest = &table;
  }
  if (widest == nullptr) return OkStatus();
  const uint32_t most = (widest->dim + kColumnsPerCut - 1) / kColumnsPerCut;
  if (request.options.column_cuts <= most) return OkStatus();
  return UsageError(
      "column_cuts={}: a row of \"{}\", the widest table, has {} columns and is cut at multiples "
      "of "
      "{}, into {} at most; give at most {}, or 0 for as many as are useful",
      request.options.column_cuts, widest->name, widest->dim, kColumnsPerCut,
      most == 1 ? "one piece" : fmt::format("{} pieces", most), most);
}

double LookupsOf(const StrategyRequest& request, size_t t) {
  const auto counted = [&](const TableSpec& table) {
    return request.accesses == nullptr ? nullptr : request.accesses->Find(table.name);
  };
  if (std::ranges::all_of(request.tables, counted)) {
    return static_cast<double>(counted(request.tables[t])->total());
  }
  return request.lookups.empty() ? 1.0 : request.lookups[t];
}

void PlaceRanges(const StrategyRequest& request, size_t t, std::span<const uint64_t> cuts,
                 Placed* placed) {
  for (uint32_t p = 0; p < request.shards; ++p) {
    if (cuts[p] == cuts[p + 1]) continue;
    const auto shard = static_cast<uint32_t>((p + t) % request.shards);
    Slice& slice = placed->slices.emplace_back(WholeTable(request.tables[t], ShardId{shard}));
    slice.row_begin = cuts[p];
    slice.row_end = cuts[p + 1];
  }
}

Placed PlaceWhole(const StrategyRequest& request, std::span<const ShardId> owner) {
  Placed placed;
  for (size_t t = 0; t < request.tables.size(); ++t) {
    placed.slices.push_back(WholeTable(request.tables[t], owner[t]));
  }
  return placed;
}

const std::string& StrategyOnWorkers() {
  static const std::string name = [] {
    for (const std::string& strategy : ShardingStrategies().Names()) {
      if (ShardingStrategies().DeclarationOf(strategy).copies_to_workers) return strategy;
    }
    LOG(FATAL) << "no strategy copies tables to the workers";
  }();
  return name;
}

}  // namespace rowhouse
