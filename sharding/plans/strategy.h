// ShardingStrategy: which shard owns which rows and columns of the tables given to it. Strategies
// differ in cost only: every plan trains the same model, bit for bit.
//
// Threads: pure functions of what they are given, the same on every rank.
// To add one, write sharding/plans/strategies/<name>.cc; it registers itself here.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/registry.h"
#include "sharding/plans/access_counts.h"
#include "sharding/plans/plan.h"

namespace rowhouse {

// Over all PS nodes. Bounds the slices of a plan, which must fit into memory and a file.
inline constexpr uint32_t kMaxShards = 1 << 16;

// The settings of strategies; each strategy reads some of them (see settings()).
struct StrategyOptions {
  uint32_t row_cuts = 0;  // grid: bands of a table, at most the rows of the largest; 0: the number
                          // nearest to shards / column_cuts
  uint32_t column_cuts = 0;  // column_wise, grid: slices of a row, at most as many as the widest
                             // table can have; 0: as many as are useful
  uint64_t seed = 111;       // shuffle: of numpy's generator; row_wise_hashed: of the order; < 2^32
  uint32_t hot_rows = 1024;  // skew_aware: at most this many rows on the workers, over all tables
                             // whose bags workers pool
  OptionValues own = {};     // of options that strategies declare themselves; each reads its own
};

struct StrategyRequest {
  std::span<const TableSpec> tables;       // to be placed
  uint32_t shards = 1;                     // > 0
  std::span<const uint32_t> capacities;    // of shards, relative; empty: all the same
  std::span<const uint64_t> bytes_there;   // of shards: bytes of tables placed before
  const AccessCounts* accesses = nullptr;  // of all tables; null: not counted
  StrategyOptions options;
  std::vector<bool> pools_on_shards = {};  // of `tables`: shards are to pool them; empty: none
  std::vector<double> lookups = {};        // of `tables`: in a sample, on average; empty: 1 each

  uint32_t capacity(uint32_t shard) const { return capacities.empty() ? 1 : capacities[shard]; }
};

struct Placed {
  std::vector<Slice> slices;
  std::vector<TablePlacement> placements;
};

class ShardingStrategy {
 public:
  virtual ~ShardingStrategy() = default;

  // True if it balances by the bytes already placed (bytes_there). Strategies that do so place
  // their tables after all others.
  virtual bool fills() const { return false; }

  // The names of the settings it reads, among capacities, row_cuts, column_cuts, strategy_seed and
  // hot_rows. Any of these that the operator gives and no table's strategy reads is refused.
  virtual std::vector<std::string> settings() const { return {}; }

  // kUsage, naming the table, if it cannot place one.
  virtual Result<Placed> Place(const StrategyRequest& request) const = 0;
};

// What a strategy says of itself, for code that knows strategies only by name.
struct StrategyDeclaration {
  bool divides_tables = false;     // every table, into about a slice for each shard
  bool copies_to_workers = false;  // tables whole, to every worker
  bool needs_counts = false;       // StrategyRequest::accesses
  // Planners try it first, however few plans they may try, and say how much better theirs is.
  bool is_baseline = false;
};

struct NoStrategyOptions {};
using StrategyRegistry = Registry<ShardingStrategy, NoStrategyOptions, StrategyDeclaration>;
StrategyRegistry& ShardingStrategies();

// The strategy that copies tables to the workers.
const std::string& StrategyOnWorkers();

// `own`: options that the strategy declares itself; Place finds them in request.options.own.
template <typename Member>
bool AddShardingStrategy(const std::string& name, StrategyDeclaration declaration,
                         std::vector<DeclaredOption> own = {}) {
  return ShardingStrategies().Add(
      name,
      [](const NoStrategyOptions&) -> Result<std::unique_ptr<ShardingStrategy>> {
        return std::unique_ptr<ShardingStrategy>(std::make_unique<Member>());
      },
      std::move(own), declaration);
}

// ---- Functions for strategies -------------------------------------------------------------------

Slice WholeTable(const TableSpec& table, ShardId shard);

// Bytes of a row: weights, state and trailer.
uint64_t RecordBytes(const TableSpec& table);
uint64_t TableBytesOf(const TableSpec& table);  // of all its records; saturates

// Divides [0, total) by the capacities of shards: shards + 1 ascending values, of which shard s has
// [cuts[s], cuts[s + 1]). With equal capacities cuts[s] = s * total / shards.
std::vector<uint64_t> CutsByCapacity(uint64_t total, const StrategyRequest& request);

// Divides [0, dim) into `pieces` ranges at multiples of kColumnsPerCut, as even as that allows, the
// wider ones first; into fewer if there are not that many multiples.
std::vector<uint32_t> ColumnCuts(uint32_t dim, uint32_t pieces);

// kUsage if column_cuts is more than any table of the request can have.
Status CheckColumnCuts(const StrategyRequest& request);

// Lookups of request.tables[t]: as counted, if all tables were; else as the request says.
double LookupsOf(const StrategyRequest& request, size_t t);

// Adds the ranges of request.tables[t]: rows [cuts[p], cuts[p + 1]) go to shard (p + t) mod shards,
// if there are any. Requires shards + 1 cuts.
void PlaceRanges(const StrategyRequest& request, size_t t, std::span<const uint64_t> cuts,
                 Placed* placed);

// Each table whole on owner[i].
Placed PlaceWhole(const StrategyRequest& request, std::span<const ShardId> owner);

}  // namespace rowhouse
