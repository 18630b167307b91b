#include "launch/bench/measured_shard.h"

#include <utility>
#include <variant>

#include "common/random.h"
#include "common/transport/peer_name.h"
#include "common/transport/zeromq.h"
#include "launch/bench/stopwatch.h"
#include "ps/store/row_store.h"
#include "sharding/plans/plan_maker.h"
#include "sharding/rows/initialiser.h"

namespace rowhouse {
namespace {

constexpr float kTinyLearningRate = 1e-6f;
constexpr TimeMs kNow = 1;  // Nothing that is measured waits.

}  // namespace

EmbeddingTables MeasuredTables(size_t count, uint64_t rows, uint32_t dim,
                               const std::string& optimizer, const std::string& pooling_sum) {
  std::vector<LogicalTable> tables(count);
  for (size_t t = 0; t < count; ++t) {
    tables[t].name = "table" + std::to_string(t);
    tables[t].rows = rows;
    tables[t].dim = dim;
    tables[t].optimizer = optimizer;
    tables[t].pooling_sum = pooling_sum;
  }
  return EmbeddingTables::Make(tables).value();
}

void FillBags(size_t samples, size_t bag_length, uint64_t rows, uint64_t key, Bags* bags) {
  bags->clear();
  bags->ids.reserve(samples * bag_length);
  SplitMix64 bits(key);
  for (size_t s = 0; s < samples; ++s) {
    for (size_t i = 0; i < bag_length; ++i) bags->ids.push_back(bits.Next() % rows);
    bags->EndBag();
  }
}

Result<MeasuredShard> MeasuredShard::Make(ShardOptions options,
                                          const std::vector<TableSpec>& tables, const Plan& plan,
                                          std::unique_ptr<RowStore> rows) {
  options.job_id = kJobId;
  options.incarnation = kIncarnation;
  MeasuredShard made;
  made.name = options.name;
  ASSIGN_OR_RETURN(const InitialiserSources sources, InitialiserSources::Open(tables));
  ASSIGN_OR_RETURN(made.shard, Shard::Make(options, tables, plan, sources));
  if (rows == nullptr) {
    ASSIGN_OR_RETURN(rows, RowStores().Make("memory", {}));
  }
  made.store = std::make_unique<ShardStore>(std::move(rows), /*directory=*/"", tables);
  RETURN_IF_ERROR(made.store->VisitRows([&made](TableId table, RowId row, uint16_t first_column) {
    made.shard->NoteStored(table, row, first_column);
  }));
  return made;
}

ShardOptions RoomyShard(const std::vector<TableSpec>& tables, uint32_t id, uint32_t workers,
                        double cache_ratio) {
  // Where rows do not all fit, a shard notes when they are used; its caches keep their sizes.
  constexpr uint64_t kNever = uint64_t{1} << 40;
  uint64_t cache_bytes = uint64_t{1} << 20;
  for (const TableSpec& table : tables) {
    constexpr uint64_t kMaxPlanes = 4;  // weights and what optimizers keep beside them
    cache_bytes += table.rows * (table.dim * sizeof(float) * kMaxPlanes + 64);
  }
  return {.node = {.cache_ratio = cache_ratio},
          .id = ShardId{id},
          .name = fmt::format("measured shard {}", id),
          .workers = workers,
          .cache_bytes = cache_bytes,
          .cache_move_steps = kNever};
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

Result<std::unique_ptr<ServedShard>> ServedShard::Start(MeasuredShard shard,
                                                        const Security& security,
                                                        const std::string& listen) {
  std::unique_ptr<ServedShard> served(new ServedShard);
  served->address_ = shard.Address("");
  served->transport_ = MakeZeroMqTransport({.security = security});
  served->runner_ = std::make_unique<ShardRunner>(
      shard.name, std::move(shard.shard), std::move(shard.store), /*log=*/nullptr,
      [transport = served->transport_.get(), listen] { return transport->Listen(listen); },
      served->clock_);
  ASSIGN_OR_RETURN(served->address_.endpoint, served->runner_->Start());
  return served;
}

Result<std::unique_ptr<ShardAlone>> ShardAlone::Make(const EmbeddingTables& tables, bool pools,
                                                     double cache_ratio) {
  return Make(tables, pools, RoomyShard(tables.physical, /*id=*/0, /*workers=*/1, cache_ratio));
}

Result<std::unique_ptr<ShardAlone>> ShardAlone::Make(const EmbeddingTables& tables, bool pools,
                                                     ShardOptions options) {
  std::unique_ptr<ShardAlone> alone(new ShardAlone);
  ASSIGN_OR_RETURN(const Plan plan, MeasuredPlan(tables, /*shards=*/1, pools));
  ASSIGN_OR_RETURN(alone->shard_, MeasuredShard::Make(std::move(options), tables.physical, plan));
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

Result<double> ShardAlone::Pull(std::vector<RowBatch>* rows, std::vector<BagBatch>* bags) {
  double ns = 0, none = 0;
  client_->StartPull(step_, /*eval=*/false, rows, bags);
  RETURN_IF_ERROR(Run(&ns, &none));
  return ns;
}

Result<ShardStepNs> ShardAlone::Step(std::vector<RowBatch>* rows, std::vector<BagBatch>* bags) {
  ShardStepNs ns;
  ASSIGN_OR_RETURN(ns.pull, Pull(rows, bags));
  client_->StartPush(step_++, kTinyLearningRate, /*samples=*/1, rows);
  RETURN_IF_ERROR(Run(&ns.push, &ns.update));
  return ns;
}

}  // namespace rowhouse
