#include "tests/testing/sim_cluster.h"

#include <fmt/core.h>
#include <glog/logging.h>
#include <omp.h>

#include <algorithm>
#include <utility>

#include "common/transport/peer_name.h"
#include "ps/store/checkpoint_part.h"
#include "worker/dense/dense_initialiser.h"

namespace rowhouse {
namespace {

constexpr uint64_t kJobId = 7;

Plan PlanOf(const SimOptions& options, const EmbeddingTables& tables) {
  PlanOptions plan = options.plan;
  plan.shards = options.shards;
  const Plan made = MakePlan(tables, plan).value();
  if (options.cache_shares.empty()) return made;
  return made.WithCacheShares(tables.physical, options.cache_shares).value();
}

std::string ShardName(uint32_t shard) { return "shard " + std::to_string(shard); }

ShardOptions ShardOptionsOf(const SimOptions& options, uint32_t shard,
                            const RowPrecision& precision) {
  return {.node = {.cache_ratio = options.cache_ratio,
                   .cache_ways = options.cache_ways,
                   .cache_policy = options.cache_policy,
                   .max_dirty_steps = options.max_dirty_steps,
                   .durability = options.logs_pushes ? "wal" : "none"},
          .id = ShardId{shard},
          .name = ShardName(shard),
          .job_id = kJobId,
          .incarnation = 1,
          .workers = options.workers,
          .row_precision = precision,
          .cache_bytes = options.cache_bytes / options.shards,
          .cache_move_steps = options.cache_move_steps,
          .access_counts = options.cache_access_counts,
          .max_unwritten_bytes = options.max_unwritten_bytes};
}

std::string NumberText(double value) { return fmt::format("{:a}", value); }

}  // namespace

struct SimCluster::Worker {
  std::unique_ptr<TrainingStep> step;
  std::unique_ptr<PsClient> client;
};

// Adds up the losses of all workers, in the order of their ranks.
class SimCluster::Losses {
 public:
  Losses(uint64_t first_step, uint32_t workers) : first_step_(first_step), workers_(workers) {}

  void Add(uint32_t worker, const StepDone& done) {
    const uint64_t step = done.steps_done - 1 - first_step_;
    if (steps_.size() <= step) steps_.resize(step + 1);
    steps_[step].samples = done.samples;
    steps_[step].loss_sums.resize(workers_);
    steps_[step].loss_sums[worker] = done.loss_sum;
    ++steps_[step].workers;
  }

  // Of the steps that all workers have done.
  std::vector<double> Means() const {
    std::vector<double> means;
    for (const Step& step : steps_) {
      if (step.workers < workers_) break;
      double sum = 0.0;
      for (const double loss : step.loss_sums) sum += loss;
      means.push_back(sum / static_cast<double>(step.samples));
    }
    return means;
  }

 private:
  struct Step {
    uint64_t samples = 0;  // of all workers
    std::vector<double> loss_sums;
    uint32_t workers = 0;
  };
  const uint64_t first_step_;
  const uint32_t workers_;
  std::vector<Step> steps_;
};

SimCluster::SimCluster(const SimOptions& options, const ModelSpec& model,
                       const EmbeddingTables& embedding)
    : options_(options), plan_(PlanOf(options, embedding)), scheduler_(options.seed) {
  if (options.has_trace) scheduler_.StartTrace();
  network_ = std::make_unique<SimNetwork>(
      scheduler_, options.faults, options.workers, options.shards,
      [this](size_t shard, size_t worker, Frames frames) {
        const PeerName name = {.job_id = kJobId, .worker = static_cast<uint32_t>(worker)};
        shards_[shard]->Handle(MessageArrived{PeerIdOf(name), std::move(frames)});
      });
  MakeShards(embedding, model.row_precision());
  MakeWorkers(model, embedding);
}

SimCluster::~SimCluster() = default;

void SimCluster::MakeShards(const EmbeddingTables& embedding, const RowPrecision& precision) {
  const std::vector<TableSpec>& tables = embedding.physical;
  const InitialiserSources sources = InitialiserSources::Open(tables).value();
  std::vector<CacheLedger::Shard> accounts;
  for (uint32_t s = 0; s < options_.shards; ++s) {
    std::unique_ptr<Shard> shard =
        Shard::Make(ShardOptionsOf(options_, s, precision), tables, plan_, sources).value();
    accounts.push_back({.bytes = shard->granted_cache_bytes(), .asks = shard->moves_cache_bytes()});
    shards_.push_back(std::make_unique<SimShard>(
        ShardName(s), std::move(shard), tables, scheduler_, options_.faults,
        [this, s](const PeerId& peer, Frames frames) {
          network_->SendToWorker(s, ReadPeerId(peer).value().worker, std::move(frames));
        },
        [this, s](CacheDemands demands) { return ledger_->Ask(s, std::move(demands)); }));
  }
  ledger_ = std::make_unique<CacheLedger>(options_.cache_bytes, accounts);
}

void SimCluster::MakeWorkers(const ModelSpec& model, const EmbeddingTables& embedding) {
  omp_set_num_threads(1);  // Tests run beside each other.
  std::vector<ShardAddress> addresses;
  for (uint32_t s = 0; s < options_.shards; ++s) {
    ShardAddress address;
    address.name = ShardName(s);
    address.incarnation = 1;
    addresses.push_back(std::move(address));
  }
  // As in `rowhouse train`: a worker that waits for a shard speaks first.
  constexpr int64_t kLongerThanAnyPullMs = 5000;
  communicators_ = MakeSimCommunicators(scheduler_, options_.workers,
                                        PsClientOptions().deadline_ms + kLongerThanAnyPullMs);
  for (uint32_t w = 0; w < options_.workers; ++w) {
    auto worker = std::make_unique<Worker>();
    worker->step = std::make_unique<TrainingStep>(
        TrainingStepOptions{.model = model,
                            .tables = embedding,
                            .optimizer = options_.dense_optimizer,
                            .optimizer_options = options_.dense_optimizer_options,
                            .pools_on_shards = plan_.pooled_on_shards(),
                            .accumulation = options_.accumulation,
                            .seed = options_.model_seed,
                            .lookup_l2 = options_.lookup_l2},
        WorkerRows::Make(embedding.physical, plan_, model.row_precision()).value());
    InitialiseDense(options_.model_seed, embedding.physical, worker->step->model(),
                    &worker->step->dense());
    worker->client = std::make_unique<PsClient>(
        PsClientOptions{.job_id = kJobId,
                        .worker = WorkerRank{w},
                        .row_precision = model.row_precision(),
                        .max_part_rows = options_.max_part_rows,
                        .push_counts = DividesByLookups(embedding.physical)},
        plan_, addresses);
    workers_.push_back(std::move(worker));
  }
}

Shard& SimCluster::shard(size_t index) { return shards_[index]->shard(); }

void SimCluster::RunWorkers(const std::function<void(uint32_t worker)>& work) {
  std::vector<std::function<void()>> tasks;
  for (uint32_t w = 0; w < options_.workers; ++w) {
    tasks.push_back([&work, w] { work(w); });
  }
  scheduler_.Run(std::move(tasks));
}

SimCluster::WorkerOutcome SimCluster::TrainWorker(uint32_t w, Dataset& data, uint64_t steps,
                                                  bool evaluates, Losses* losses) {
  class Observer final : public TrainerObserver {
   public:
    Observer(uint32_t worker, Losses* all, SimScheduler& scheduler)
        : worker_(worker), losses_(all), scheduler_(scheduler) {}
    void OnStep(const StepDone& done) override {
      losses_->Add(worker_, done);
      scheduler_.Note(fmt::format("w{} has done {} steps, loss {}", worker_, done.steps_done,
                                  NumberText(done.loss_sum)));
    }
    void OnProgress(const TrainingProgress&) override {}
    void OnEvaluation(const Evaluation&) override {}

   private:
    const uint32_t worker_;
    Losses* const losses_;
    SimScheduler& scheduler_;
  } observer(w, losses, scheduler_);

  Worker& worker = *workers_[w];
  Communicator& communicator = *communicators_[w];
  Dialer& dialer = network_->dialer(w);
  const WaitingForRoom waits(communicator, *worker.client, dialer, scheduler_);
  const auto rate = LrPolicies().Make("constant", {.base = options_.learning_rate}).value();
  const std::atomic<bool> stop = false;
  Trainer trainer({.mini_batch_size = options_.mini_batch_size,
                   .test_mini_batch_size = options_.mini_batch_size,
                   .print_every_steps = 0,
                   .first_step = step_,
                   .stop_after_steps = steps,
                   .prefetch_steps = options_.prefetch_steps},
                  {.lr_policy = *rate,
                   .data = data,
                   .step = *worker.step,
                   .client = *worker.client,
                   .dialer = dialer,
                   .workers = communicator,
                   .clock = scheduler_,
                   .observer = observer,
                   .stop = stop});
  if (w == 0) {
    trainer.set_after_step([&](uint64_t done, bool*) { return GoOnWithCheckpoint(done); });
  }
  WorkerOutcome outcome;
  Result<TrainingSummary> trained = trainer.Train();
  outcome.status = trained.status();
  if (trained.ok()) {
    outcome.summary = std::move(trained).value();
    while (w == 0 && outcome.status.ok() && has_checkpoint_) {
      outcome.status = AskForCheckpoint(outcome.summary.steps_done);
    }
    if (evaluates && outcome.status.ok()) {
      Result<Evaluation> evaluated = trainer.Evaluate(outcome.summary.steps_done);
      outcome.status = evaluated.status();
      if (evaluated.ok()) outcome.evaluation = std::move(evaluated).value();
    }
  }
  outcome.is_agreed = trainer.is_failure_agreed();
  scheduler_.Note(fmt::format("w{} ends after {} s: {} {}", w, outcome.summary.seconds,
                              NumberText(outcome.evaluation.metrics.logloss),
                              outcome.status.ToString()));
  return outcome;
}

Status SimCluster::AskForCheckpoint(uint64_t steps) {
  PsClient& client = *workers_[0]->client;
  client.StartCheckpoint(steps, {.phase = CheckpointPhase::kAsk, .name = {}});
  RETURN_IF_ERROR(RunClient(client, network_->dialer(0), scheduler_));
  const std::vector<CheckpointReply>& replies = client.replies().checkpoints;
  if (std::ranges::any_of(replies, &CheckpointReply::is_under_way)) return OkStatus();
  has_checkpoint_ = false;
  client.StartCheckpoint(steps, {.phase = CheckpointPhase::kDelete, .name = {}});
  return RunClient(client, network_->dialer(0), scheduler_);
}

Status SimCluster::GoOnWithCheckpoint(uint64_t steps) {
  if (has_checkpoint_) RETURN_IF_ERROR(AskForCheckpoint(steps));
  if (options_.save_every == 0 || steps % options_.save_every != 0 || has_checkpoint_) {
    return OkStatus();
  }
  has_checkpoint_ = true;
  ++checkpoints_begun_;
  PsClient& client = *workers_[0]->client;
  client.StartCheckpoint(steps, {.phase = CheckpointPhase::kMark, .name = CheckpointName(steps)});
  return RunClient(client, network_->dialer(0), scheduler_);
}

std::map<uint64_t, std::string> SimCluster::Checkpoints() const {
  std::map<uint64_t, std::string> all;
  for (const auto& [steps, first] : shards_[0]->checkpoints()) {
    RowsDigest sum;
    size_t made = 0;
    for (const auto& shard : shards_) {
      const auto found = shard->checkpoints().find(steps);
      if (found == shard->checkpoints().end()) continue;
      sum.Merge(found->second);
      ++made;
    }
    if (made == shards_.size()) all[steps] = sum.hex();
  }
  return all;
}

SimCluster::Outcome SimCluster::TryTrain(Dataset& data, uint64_t steps, bool evaluates) {
  Losses losses(step_, options_.workers);
  Outcome outcome;
  outcome.workers.resize(options_.workers);
  RunWorkers(
      [&](uint32_t w) { outcome.workers[w] = TrainWorker(w, data, steps, evaluates, &losses); });
  step_ = outcome.workers[0].summary.steps_done;
  outcome.losses = losses.Means();
  return outcome;
}

std::vector<double> SimCluster::Train(Dataset& data, uint64_t steps) {
  Outcome outcome = TryTrain(data, steps);
  for (const WorkerOutcome& worker : outcome.workers) {
    CHECK(worker.status.ok()) << worker.status.ToString() << "; seed " << options_.seed;
  }
  return std::move(outcome.losses);
}

SimCluster::Rows SimCluster::AllRows() {
  PsClient& client = *workers_[0]->client;
  scheduler_.Run({[&] {  // Task 0 is worker 0.
    client.StartDigest(step_);
    const Status done = RunClient(client, network_->dialer(0), scheduler_);
    CHECK(done.ok()) << done.ToString();
  }});
  RowsDigest digest;
  Rows rows;
  for (const DigestReply& reply : client.replies().digests) {
    digest.Merge(RowsDigest(reply.high, reply.low));
    rows.count += reply.rows;
  }
  const WorkerRows& of_workers = *workers_[0]->step->rows();
  digest.Merge(of_workers.Digest());
  rows.count += of_workers.existing_rows();
  for (const auto& worker : workers_) {
    CHECK(worker->step->rows()->Digest() == of_workers.Digest()) << "workers drifted apart";
  }
  rows.digest = digest.hex();
  return rows;
}

ShardCounters SimCluster::TotalStats() const {
  ShardCounters total;
  for (const auto& node : shards_) total.Add(node->shard().stats());
  return total;
}

std::vector<float> SimCluster::DenseParameters(size_t worker) {
  const std::span<const float> parameters = workers_[worker]->step->dense().values();
  return {parameters.begin(), parameters.end()};
}

}  // namespace rowhouse
