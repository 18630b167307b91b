#include "launch/calibrate/measured_shard.h"

#include <utility>

#include "ps/store/row_store.h"
#include "sharding/plans/plan_maker.h"
#include "sharding/rows/initialiser.h"

namespace rowhouse {

Result<MeasuredShard> MeasuredShard::Make(const std::vector<TableSpec>& tables, const Plan& plan,
                                          uint32_t id, uint32_t workers, double cache_ratio) {
  MeasuredShard made;
  made.name = fmt::format("shard {} of the calibration", id);
  // Where rows do not all fit, a shard notes when they are used; its caches keep their sizes.
  constexpr uint64_t kNever = uint64_t{1} << 40;
  uint64_t cache_bytes = uint64_t{1} << 20;
  for (const TableSpec& table : tables) {
    constexpr uint64_t kMaxPlanes = 4;  // weights and what optimizers keep beside them
    cache_bytes += table.rows * (table.dim * sizeof(float) * kMaxPlanes + 64);
  }
  ASSIGN_OR_RETURN(const InitialiserSources sources, InitialiserSources::Open(tables));
  ASSIGN_OR_RETURN(made.shard, Shard::Make({.node = {.cache_ratio = cache_ratio},
                                            .id = ShardId{id},
                                            .name = made.name,
                                            .job_id = kJobId,
                                            .incarnation = kIncarnation,
                                            .workers = workers,
                                            .cache_bytes = cache_bytes,
                                            .cache_move_steps = kNever},
                                           tables, plan, sources));
  ASSIGN_OR_RETURN(std::unique_ptr<RowStore> rows, RowStores().Make("memory", {}));
  made.store = std::make_unique<ShardStore>(std::move(rows), /*directory=*/"", tables);
  RETURN_IF_ERROR(made.store->VisitRows([&made](TableId table, RowId row, uint16_t first_column) {
    made.shard->NoteStored(table, row, first_column);
  }));
  return made;
}

ShardAddress MeasuredShard::Address(const std::string& endpoint) const {
  ShardAddress address;
  address.endpoint = endpoint;
  address.name = name;
  address.incarnation = kIncarnation;
  return address;
}

Result<Plan> MeasuredPlan(const EmbeddingTables& tables, uint32_t shards, bool pools) {
  return MakePlan(tables, {.shards = shards, .pool_on = pools ? "shards" : "workers"});
}

}  // namespace rowhouse
