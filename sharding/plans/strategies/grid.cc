// grid: every table is divided by rows (option row_cuts) and by columns at multiples of 16 (option
// column_cuts; by default 2), and its slices go to the shards in turn (torchrec's GRID_SHARD). By
// default there are enough row_cuts to give every shard a slice. Small and narrow tables have fewer
// slices.
#include <algorithm>

#include "sharding/plans/strategy.h"

namespace rowhouse {
namespace {

class Grid final : public ShardingStrategy {
 public:
  std::vector<std::string> settings() const override { return {"row_cuts", "column_cuts"}; }

  Result<Placed> Place(const StrategyRequest& request) const override {
    const StrategyOptions& options = request.options;
    RETURN_IF_ERROR(CheckColumnCuts(request));
    RETURN_IF_ERROR(CheckRowCuts(request));
    Placed placed;
    uint32_t next = 0;
    for (const TableSpec& table : request.tables) {
      const std::vector<uint32_t> columns =
          ColumnCuts(table.dim, options.column_cuts == 0 ? 2 : options.column_cuts);
      const auto across = static_cast<uint32_t>(columns.size() - 1);
      const uint32_t bands =
          options.row_cuts == 0 ? (request.shards + across - 1) / across : options.row_cuts;
      const std::vector<uint64_t> rows = CutsByCapacity(table.rows, {.shards = bands});
      for (uint32_t band = 0; band < bands; ++band) {
        if (rows[band] == rows[band + 1]) continue;
        for (uint32_t p = 0; p < across; ++p, ++next) {
          placed.slices.push_back({.table = table.id,
                                   .row_begin = rows[band],
                                   .row_end = rows[band + 1],
                                   .column_begin = columns[p],
                                   .column_end = columns[p + 1],
                                   .shard = ShardId{next % request.shards}});
        }
      }
    }
    return placed;
  }

 private:
  static Status CheckRowCuts(const StrategyRequest& request) {
    const auto largest = std::ranges::max_element(request.tables, {}, &TableSpec::rows);
    if (largest == request.tables.end() || request.options.row_cuts <= largest->rows) {
      return OkStatus();
    }
    return UsageError(
        "row_cuts={}: \"{}\", the largest table, has {} rows; give at most as many, or 0 for as "
        "many "
        "as give every shard a piece",
        request.options.row_cuts, largest->name, largest->rows);
  }
};

REGISTER_MEMBER(AddShardingStrategy<Grid>("grid", {.divides_tables = true}));

}  // namespace
}  // namespace rowhouse
