#include "launch/calibrate/shard_alone.h"

#include <utility>
#include <variant>

#include "common/transport/peer_name.h"
#include "launch/calibrate/stopwatch.h"

namespace rowhouse {
namespace {

constexpr float kLearningRate = 1e-6f;
constexpr TimeMs kNow = 1;  // Nothing that is measured waits.

}  // namespace

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
