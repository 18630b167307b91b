// column_wise: all rows of a table, divided into ranges of columns at multiples of 16 (option
// column_cuts; by default one for each shard), as torchrec's COLUMN_WISE. The work of a row is
// spread evenly, however hot it is, but every shard is asked for every row.
//
// Slices go to the shards in turn, and on from table to table. Narrow tables have fewer slices,
// those of at most 16 columns one; a plan refuses tables whose optimizer or max_norm needs whole
// rows.
#include "sharding/plans/strategy.h"

namespace rowhouse {
namespace {

class ColumnWise final : public ShardingStrategy {
 public:
  std::vector<std::string> settings() const override { return {"column_cuts"}; }

  Result<Placed> Place(const StrategyRequest& request) const override {
    RETURN_IF_ERROR(CheckColumnCuts(request));
    const uint32_t pieces =
        request.options.column_cuts == 0 ? request.shards : request.options.column_cuts;
    Placed placed;
    uint32_t next = 0;
    for (const TableSpec& table : request.tables) {
      const std::vector<uint32_t> cuts = ColumnCuts(table.dim, pieces);
      for (size_t p = 0; p + 1 < cuts.size(); ++p, ++next) {
        Slice slice = WholeTable(table, ShardId{next % request.shards});
        slice.column_begin = cuts[p];
        slice.column_end = cuts[p + 1];
        placed.slices.push_back(slice);
      }
      // The widest slices come first; the next table's begin on another shard.
      if (cuts.size() - 1 == request.shards) ++next;
    }
    return placed;
  }
};

REGISTER_MEMBER(AddShardingStrategy<ColumnWise>("column_wise", {.divides_tables = true}));

}  // namespace
}  // namespace rowhouse
