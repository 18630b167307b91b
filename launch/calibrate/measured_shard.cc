#include "launch/calibrate/measured_shard.h"

#include <utility>
#include <variant>

#include "common/transport/peer_name.h"
#include "launch/calibrate/stopwatch.h"
#include "ps/store/row_store.h"
#include "sharding/plans/plan_maker.h"
#include "sharding/rows/initialiser.h"

namespace rowhouse {
namespace {

constexpr float kLearningRate = 1e-6f;
constexpr TimeMs kNow = 1;  // Nothing that is measured waits.

}  // namespace

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

Result<std::unique_ptr<ShardAlone>> ShardAlone::Make(const EmbeddingTables& tables, bool pools,
                                                     double cache_ratio) {
  std::unique_ptr<ShardAlone> alone(new ShardAlone);
  ASSIGN_OR_RETURN(const Plan plan, MeasuredPlan(tables, /*shards=*/1, pools));
  ASSIGN_OR_RETURN(alone->shard_, MeasuredShard::Make(tables.physical, plan, /*id=*/0,
                                                      /*workers=*/1, cache_ratio));
  alone->client_ =
      std::make_unique<PsClient>(PsClientOptions{.job_id = MeasuredShard::kJobId}, plan,
                                 std::vector<ShardAddress>{alone->shard_.Address("nowhere")});
  return alone;
}

Status ShardAlone::Give(ShardEvent event, double* ns, double* update_ns) {
  for (;;) {
    const bool is_update = std::holds_alternative<Continue>(event);
    const Stopwatch stopwatch;
    std::vector<ShardAction> actions = shard_.shard->Handle(std::move(event), kNow);
    *(is_update ? update_ns : ns) += stopwatch.Ns();
    bool calls_again = false;
    for (ShardAction& action : actions) {
      if (auto* send = std::get_if<SendFrames>(&action)) {
        client_->OnMessage(0, std::move(send->frames));
      } else if (std::holds_alternative<CallAgain>(action)) {
        calls_again = true;
      } else if (!std::holds_alternative<WakeAt>(action)) {
        return MakeStatus(StatusCode::kInternal, "{} uses its store", shard_.name);
      }
    }
    if (!calls_again) return OkStatus();
    event = Continue{};
  }
}

Status ShardAlone::Run(double* ns, double* update_ns) {
  const PeerId peer = PeerIdOf({.job_id = MeasuredShard::kJobId});
  while (client_->busy()) {
    std::vector<Outgoing> outgoing = client_->TakeOutgoing(kNow);
    if (outgoing.empty()) return MakeStatus(StatusCode::kInternal, "{} is silent", shard_.name);
    for (Outgoing& message : outgoing) {
      RETURN_IF_ERROR(
          Give(MessageArrived{.peer = peer, .frames = std::move(message.frames)}, ns, update_ns));
    }
  }
  return client_->status();
}

Result<ShardStepNs> ShardAlone::Step(std::vector<RowBatch>* rows, std::vector<BagBatch>* bags) {
  ShardStepNs ns;
  client_->StartPull(step_, /*eval=*/false, rows, bags);
  RETURN_IF_ERROR(Run(&ns.pull, &ns.update));
  client_->StartPush(step_++, kLearningRate, /*samples=*/1, rows);
  RETURN_IF_ERROR(Run(&ns.push, &ns.update));
  return ns;
}

}  // namespace rowhouse
