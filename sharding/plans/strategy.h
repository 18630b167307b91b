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

// Of all PS nodes together: what a plan's slices still fit into memory and a file for.
inline constexpr uint32_t kMaxShards = 1 << 16;

// What an operator may say of strategies; each reads what concerns it.
struct StrategyOptions {
  uint32_t row_cuts = 0;     // grid: bands, at most rows of the largest table; 0: as many as come
                             // nearest to shards / column_cuts
  uint32_t column_cuts = 0;  // column_wise, grid: pieces of a row, at most as many as the widest
                             // table can be cut into; 0: as many as useful
  uint64_t seed = 111;       // shuffle: of numpy's generator; row_wise_hashed: of the order; < 2^32
  uint32_t hot_rows = 1024;  // skew_aware: so many rows at most, over its tables, on the workers;
                             // none of tables that shards pool
  OptionValues own = {};     // of options that strategies declare themselves; each reads its own
};

struct StrategyRequest {
  std::span<const TableSpec> tables;       // those to place
  uint32_t shards = 1;                     // > 0
  std::span<const uint32_t> capacities;    // of shards, relative to one another; none: all the same
  std::span<const uint64_t> bytes_there;   // of shards: what other tables put there already
  const AccessCounts* accesses = nullptr;  // of all tables; null: nobody counted
  StrategyOptions options;
  std::vector<bool> pools_on_shards = {};  // of `tables`, as asked for; none: no

  uint32_t capacity(uint32_t shard) const { return capacities.empty() ? 1 : capacities[shard]; }
};

struct Placed {
  std::vector<Slice> slices;
  std::vector<TablePlacement> placements;
};

class ShardingStrategy {
 public:
  virtual ~ShardingStrategy() = default;

  // True if it fills what others leave free: it is asked after those that spread tables evenly.
  virtual bool fills() const { return false; }

  // What it reads of the request beside tables and shards, by the names of the settings: of
  // capacities, row_cuts, column_cuts, strategy_seed and hot_rows.
  virtual std::vector<std::string> settings() const { return {}; }

  // kUsage, naming the table, if one cannot be placed so.
  virtual Result<Placed> Place(const StrategyRequest& request) const = 0;
};

struct NoStrategyOptions {};
Registry<ShardingStrategy, NoStrategyOptions>& ShardingStrategies();

// `own`: options that the strategy declares itself; Place finds them in request.options.own.
template <typename Member>
bool AddShardingStrategy(const std::string& name, std::vector<DeclaredOption> own = {}) {
  return ShardingStrategies().Add(
      name,
      [](const NoStrategyOptions&) -> Result<std::unique_ptr<ShardingStrategy>> {
        return std::unique_ptr<ShardingStrategy>(std::make_unique<Member>());
      },
      std::move(own));
}

// ---- What strategies are made of ----------------------------------------------------------------

Slice WholeTable(const TableSpec& table, ShardId shard);

// Bytes of a row: weights, state and trailer.
uint64_t RecordBytes(const TableSpec& table);
uint64_t TableBytesOf(const TableSpec& table);  // of all its records; saturates

// Where `total` is cut into parts as the capacities of `shards` say: shards + 1 values from 0 to
// `total`, so that part s is [cuts[s], cuts[s + 1]). With equal capacities s * total / shards.
std::vector<uint64_t> CutsByCapacity(uint64_t total, const StrategyRequest& request);

// Where `dim` columns are cut into `pieces` at multiples of kColumnsPerCut, as evenly as that
// allows, the wider pieces first; fewer pieces where there are not as many multiples.
std::vector<uint32_t> ColumnCuts(uint32_t dim, uint32_t pieces);

// kUsage if there are column_cuts that no table of the request can be cut into.
Status CheckColumnCuts(const StrategyRequest& request);

// Owners of whole tables: each in `order` goes to the shard that would hold the least, by bytes
// over capacity; to the lowest of equals.
std::vector<ShardId> AssignToLeastLoaded(const StrategyRequest& request,
                                         std::span<const size_t> order);

// Each table whole where `owner` (one a table) says.
Placed PlaceWhole(const StrategyRequest& request, std::span<const ShardId> owner);

}  // namespace rowhouse
