#include "launch/run/worker_run.h"

#include <fmt/core.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "common/numpy_random.h"
#include "launch/model/manifest.h"
#include "launch/plan/plan_of_run.h"
#include "launch/report/traffic_report.h"
#include "launch/run/debug_print.h"
#include "launch/run/room_on_disk.h"
#include "launch/run/run_outcome.h"
#include "launch/run/run_preview.h"
#include "launch/run/run_start.h"
#include "launch/run/terminal.h"
#include "launch/settings/yaml_config.h"
#include "sharding/rows/rows_digest.h"
#include "worker/client/waiting_for_room.h"
#include "worker/dense/dense_initialiser.h"
#include "worker/dense/matrix_product.h"
#include "worker/dense/xavier.h"
#include "worker/mpi/agreement.h"
#include "worker/train/trainer.h"

namespace rowhouse {
namespace {

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The promise of equal bits over runs holds for one instruction set; replicas never drift apart,
// because oneDNN makes gradients only.
Status WarnOfMixedCpus(Communicator& workers, const WorkerRunOptions& options) {
  const int mine = OneDnnCpuIsa();
  ASSIGN_OR_RETURN(const auto all, workers.AllGather(std::as_bytes(std::span(&mine, 1)),
                                                     "comparing instruction sets"));
  const bool are_same =
      std::all_of(all.begin(), all.end(), [&](const auto& one) { return one == all.front(); });
  LOG_IF(WARNING, !are_same && options.prints)
      << "workers have CPUs of different instruction sets: the same run on other hosts may give "
         "other bits; DNNL_MAX_CPU_ISA pins the lowest";
  return OkStatus();
}

// Fresh: DLRM's initial values, drawn after the tables' where those are drawn in order too.
Status FillDense(const Settings& settings, const std::vector<float>& loaded, Dataset& data,
                 TrainingStep& step) {
  const std::span<float> parameters = step.dense().values();
  const std::span<float> state = step.optimizer().state();
  if (!loaded.empty()) {
    const size_t of_dense = parameters.size() + state.size();
    if (loaded.size() != of_dense + step.rows()->saved_floats()) {
      return CorruptionError("the saved dense part has {} floats, the model needs {}",
                             loaded.size(), of_dense + step.rows()->saved_floats());
    }
    std::copy_n(loaded.begin(), parameters.size(), parameters.begin());
    std::copy_n(loaded.begin() + static_cast<std::ptrdiff_t>(parameters.size()), state.size(),
                state.begin());
    return step.rows()->Load(std::span(loaded).subspan(of_dense));
  }
  FillInitialValues(settings.data.seed, &step.dense());
  uint64_t draws = 0;
  for (const TableSpec& table : settings.embedding.physical) {
    if (table.initialiser == "dlrm") draws += table.rows * table.dim;
  }
  NumpyRandom random(0);
  if (settings.printing_draws > 0) {
    // Not by their number: a normal drawn for the data may have left another for the weights.
    random = data.GeneratorAfterEpoch().value();
    random.SkipDoubles(draws);
  } else {
    random = NumpyDraws(static_cast<uint32_t>(settings.data.seed)).At(draws);
  }
  InitialiseDense(step.model().layers(), &random, parameters);
  return OkStatus();
}

std::vector<float> DenseToSave(TrainingStep& step) {
  const std::span<const float> parameters = step.dense().values();
  const std::span<const float> state = step.optimizer().state();
  std::vector<float> dense(parameters.begin(), parameters.end());
  dense.insert(dense.end(), state.begin(), state.end());
  const std::vector<float> rows = step.rows()->Save();
  dense.insert(dense.end(), rows.begin(), rows.end());
  return dense;
}

Result<std::unique_ptr<Dialer>> ConnectToShards(const std::vector<ShardAddress>& shards,
                                                const JobSpec& job, WorkerRank worker,
                                                Transport& transport) {
  ASSIGN_OR_RETURN(
      std::unique_ptr<Dialer> dialer,
      transport.MakeDialer(fmt::format("{:016x}-w{}-i{}-s0", job.job_id, Raw(worker), getpid())));
  for (const ShardAddress& shard : shards) {
    RETURN_IF_ERROR(dialer->Connect(shard.endpoint).status().Annotate(shard.name));
  }
  return dialer;
}

TrainerOptions TrainerOptionsOf(const Settings& settings, const JobSpec& job) {
  const TrainingSettings& training = settings.training;
  const auto every = [](int64_t steps) { return steps < 1 ? 0 : static_cast<uint64_t>(steps); };
  // Batches that are accumulated make one step.
  const uint64_t batches = training.accumulation;
  const uint64_t most_batches = settings.data.num_batches;
  return {.mini_batch_size = settings.data.mini_batch_size * batches,
          .test_mini_batch_size = settings.test_mini_batch_size(),
          .epochs = training.nepochs,
          .max_steps_per_epoch = (most_batches + batches - 1) / batches,
          .print_every_steps = every(training.print_freq),
          .test_every_steps = every(training.test_freq),
          .first_step = job.first_step(),
          .stop_after_steps = training.stop_after_steps,
          .prefetch_steps = settings.training.prefetch_steps};
}

// The data of the first worker, and, of a loaded model, those it was trained on: the reader goes on
// from the step only if epochs are as long as they were and hold the same samples.
Status CheckSameData(const Settings& settings, const JobSpec& job, const Dataset& data,
                     const std::string& digest_of_first) {
  const std::string digest = data.content_digest();
  if (digest != digest_of_first) {
    return UsageError(
        "--data={} is another file on this worker's host than on the first worker's (digest {}, "
        "there {}); give all hosts the same",
        settings.data.file, digest, digest_of_first);
  }
  if (!job.is_load) return OkStatus();
  if (!job.load.data_digest.empty() && digest != job.load.data_digest) {
    return UsageError(
        "--load: --data={} is not what the model in {} was trained on (digest {}, was {}); give "
        "the same data",
        settings.data.file, settings.output.model_dir, digest, job.load.data_digest);
  }
  const uint64_t steps = StepsPerEpoch(data, TrainerOptionsOf(settings, job));
  if (steps == job.load.steps_per_epoch) return OkStatus();
  return UsageError(
      "--load: the data have {} steps an epoch, those the model in {} was trained on had {}; give "
      "the same data and --num_batches",
      steps, settings.output.model_dir, job.load.steps_per_epoch);
}

// One worker asks the shards; the others wait for what it found.
Result<RowFacts> AskForRows(PsClient& client, Dialer& dialer, const Clock& clock, uint64_t steps,
                            const WorkerRows& of_workers) {
  RowFacts facts;
  client.StartStats(steps);
  RETURN_IF_ERROR(RunClient(client, dialer, clock));
  facts.stats = client.stats();
  client.StartDigest(steps);
  RETURN_IF_ERROR(RunClient(client, dialer, clock));
  RowsDigest digest = of_workers.Digest();
  facts.worker_rows = of_workers.existing_rows();
  facts.worker_bytes = of_workers.saved_floats() * sizeof(float);
  facts.rows = facts.worker_rows;
  for (const DigestReply& reply : client.digests()) {
    digest.Merge(RowsDigest(reply.high, reply.low));
    facts.rows += reply.rows;
    facts.shard_rows.push_back(reply.rows);
  }
  facts.digest = digest.hex();
  return facts;
}

Status SaveRun(const Settings& settings, const JobSpec& job, Dataset& data,
               const std::string& rows_digest, const std::vector<ShardAddress>& shards,
               uint64_t steps, uint64_t steps_per_epoch, TrainingStep& step) {
  Manifest manifest{.model_id = job.model_id,
                    .config_digest = job.config_digest,
                    .steps = steps,
                    .steps_per_epoch = steps_per_epoch,
                    .rows_digest = rows_digest,
                    .data_digest = data.content_digest(),
                    .tables = job.tables,
                    .plan = job.plan,
                    .shards = {},
                    .dense_file = {},
                    .dense_checksum = {}};
  for (uint32_t s = 0; s < shards.size(); ++s) {
    manifest.shards.push_back({ShardId{s}, shards[s].host, shards[s].directory});
  }
  const PlaceInData place = PlaceAfter(steps, data, TrainerOptionsOf(settings, job));
  ASSIGN_OR_RETURN(const DatasetState state, data.StateAt(place.epoch, place.sample));
  return SaveModel(settings.output.model_dir, std::move(manifest), DenseToSave(step),
                   WriteYamlText(settings), state);
}

// The end of a run that failed on all workers: nodes that are there hold the job open, and are free
// for others once told.
void PartEarly(const WorkerRunOptions& options, WorkerRank worker, uint64_t job_id,
               Transport& transport, const Clock& clock) {
  constexpr uint32_t kToldWithinMs = 1000;
  const Status told =
      PartFromNodes({.worker = worker, .host = options.host, .deadline_ms = kToldWithinMs}, job_id,
                    options.nodes, transport, clock);
  VLOG_IF(1, !told.ok()) << told.message();
}

}  // namespace

Status RunWorker(const Settings& settings, const WorkerRunOptions& options, Communicator& workers,
                 Communicator& saving, Transport& transport, const Clock& clock,
                 const std::atomic<bool>& stop, bool* is_agreed) {
  const auto began = std::chrono::steady_clock::now();
  *is_agreed = true;  // Until training starts every failure is everybody's.
  omp_set_num_threads(static_cast<int>(settings.training.threads));

  Result<std::unique_ptr<Dataset>> opened = Datasets().Make(settings.data_source(), settings.data);
  RETURN_IF_ERROR(Agree(workers, opened.status(), "opening the data"));
  const std::unique_ptr<Dataset> data = std::move(opened).value();
  RETURN_IF_ERROR(CheckSize(*data, TrainerOptionsOf(settings, JobSpec())));

  RETURN_IF_ERROR(WarnOfMixedCpus(workers, options));
  ASSIGN_OR_RETURN(const RunStart start,
                   ShareStart(settings, static_cast<uint32_t>(options.nodes.size()),
                              options.shards_per_node, workers));
  const JobSpec& job = start.job;

  Result<std::unique_ptr<WorkerRows>> worker_rows = WorkerRows::Make(job.tables, job.plan);
  RETURN_IF_ERROR(Agree(workers, worker_rows.status(), "making the rows of the workers"));
  TrainingStep step({.model = settings.model,
                     .tables = settings.embedding,
                     .optimizer = settings.dense_optimizer(),
                     .optimizer_options = settings.dense_optimizer_options(),
                     .pools_on_shards = job.plan.pooled_on_shards(),
                     .accumulation = settings.training.accumulation},
                    std::move(worker_rows).value());
  RETURN_IF_ERROR(
      Agree(workers, FillDense(settings, start.dense, *data, step), "initialising the dense part"));

  ASSIGN_OR_RETURN(const std::string digest_of_first,
                   BroadcastFromFirst(workers, data->content_digest(), "comparing the data"));
  RETURN_IF_ERROR(
      Agree(workers, CheckSameData(settings, job, *data, digest_of_first), "comparing the data"));
  if (job.is_load) {
    const PlaceInData place = PlaceAfter(job.first_step(), *data, TrainerOptionsOf(settings, job));
    RETURN_IF_ERROR(Agree(workers, data->GoOnFrom(place.epoch, place.sample, start.data),
                          "going on in the data"));
  }

  std::vector<TableTraffic> traffic;
  Status estimated;
  if (options.prints) {
    Result<std::vector<TableTraffic>> found = TrafficOfRun(settings, job.plan, workers.size());
    estimated = found.status();
    if (found.ok()) traffic = std::move(found).value();
    fmt::print("{}", TrafficHints(settings.embedding, traffic));
  }
  RETURN_IF_ERROR(Agree(workers, estimated, "estimating what the plan moves"));

  const RendezvousOptions rendezvous{.worker = workers.rank(),
                                     .host = options.host,
                                     .deadline_ms = settings.cluster.rendezvous_deadline_ms,
                                     .stop = &stop};
  Result<std::vector<ShardAddress>> met =
      MeetNodes(rendezvous, job, options.nodes, transport, clock);
  // What several nodes refuse, each worker may have heard of another.
  bool are_all_heard = false;
  const Status all_met = AgreeOnOne(workers, met.status(), "meeting the PS nodes", &are_all_heard);
  if (!all_met.ok()) {
    PartEarly(options, workers.rank(), job.job_id, transport, clock);
    return all_met;
  }
  const std::vector<ShardAddress> shards = std::move(met).value();
  Result<std::unique_ptr<Dialer>> connected =
      ConnectToShards(shards, job, workers.rank(), transport);
  RETURN_IF_ERROR(Agree(workers, connected.status(), "connecting to the shards"));
  const std::unique_ptr<Dialer> dialer = std::move(connected).value();

  *is_agreed = false;
  const bool prints_all = settings.training.debug_mode && options.prints;
  PsClient client({.job_id = job.job_id,
                   .worker = workers.rank(),
                   .deadline_ms = settings.cluster.rpc_deadline_ms,
                   .control_deadline_ms = settings.cluster.save_deadline_ms,
                   .room_deadline_ms = settings.cluster.save_deadline_ms,
                   .push_counts = DividesByLookups(job.tables)},
                  job.plan, shards);
  std::optional<WaitingForRoom> training_waits(std::in_place, workers, client, *dialer, clock);
  std::optional<WaitingForRoom> saving_waits(std::in_place, saving, client, *dialer, clock);
  RowsPulled pulled_before;
  const auto describe_shards = [&]() -> std::string {
    client.StartStats(0);  // As they are now: no shard is waited for.
    if (!RunClient(client, *dialer, clock).ok()) return "";  // The next step says why.
    RowsPulled pulled, since;
    for (const StatsReply& shard : client.stats()) pulled.Add(shard.pulled);
    since = {.from_memory = pulled.from_memory - pulled_before.from_memory,
             .first_touched = pulled.first_touched - pulled_before.first_touched,
             .from_store = pulled.from_store - pulled_before.from_store};
    pulled_before = pulled;
    return PartsOfPulledText(since, settings.storage.store);
  };
  Progress progress({.prints = options.prints,
                     .is_terminal = IsWatchedOnTerminal(),
                     .describe_shards = describe_shards},
                    clock);
  const std::unique_ptr<LrPolicy> lr_policy =
      LrPolicies().Make(settings.training.lr_policy, settings.training.lr_policy_options()).value();
  Trainer trainer(TrainerOptionsOf(settings, job), *lr_policy, *data, step, client, *dialer,
                  workers, clock, progress, stop);
  const auto print_parameters = [&](std::string_view title, uint64_t steps) {
    return PrintParameters(title, steps, settings.training.print_precision, job.tables,
                           step.dense(), client, *dialer, clock);
  };
  std::optional<NodePlan> memory_plan;
  if (options.prints) {
    memory_plan = MemoryPlanOf(settings, job);
    fmt::print("{}", RunPreviewText(settings, job, *data, trainer.steps_per_epoch(), memory_plan));
    std::fflush(stdout);
  }
  if (prints_all) {
    fmt::print("{}", ModelArchText(settings));
    RETURN_IF_ERROR(PrintData(trainer.steps_per_epoch(), settings.data.mini_batch_size, *data));
    RETURN_IF_ERROR(print_parameters("initial parameters (weights and bias):", job.first_step()));
  }
  const auto failed = [&](const Status& status, bool is_everybodys) {
    *is_agreed = is_everybodys;
    if (is_everybodys) PartEarly(options, workers.rank(), job.job_id, transport, clock);
    return status;
  };
  const double started_after = SecondsSince(began);
  const Result<TrainingSummary> trained = trainer.Train();
  if (!trained.ok()) return failed(trained.status(), trainer.is_failure_agreed());
  const TrainingSummary& summary = trained.value();
  if (prints_all) {
    progress.ClearLine();
    RETURN_IF_ERROR(print_parameters("updated parameters (weights and bias):", summary.steps_done));
  }
  // What was trained is safe before tests and digest take their time: whoever asked the run to stop
  // may lose patience. The digest, which reads all rows, comes into the manifest afterwards.
  const bool keep = !settings.output.model_dir.empty();
  const auto save = [&](const std::string& rows_digest) {
    if (!keep) return OkStatus();
    // The rows are those of this step by now: only with the rest are they a model.
    return UntilThereIsRoom(
        {.what = "the model in " + settings.output.model_dir,
         .deadline_ms = settings.cluster.save_deadline_ms},
        clock, [&] {
          return AsFaultOfTheWorld(SaveRun(settings, job, *data, rows_digest, shards,
                                           summary.steps_done, trainer.steps_per_epoch(), step));
        });
  };
  const auto saving_began = std::chrono::steady_clock::now();
  Status saved;
  if (options.prints && keep) {
    client.StartFlush(summary.steps_done);
    saved = RunClient(client, *dialer, clock);
    if (saved.ok()) saved = save("");
  }
  bool is_everybodys = false;
  saved = AgreeOnOne(saving, saved, "saving the model", &is_everybodys);
  if (!saved.ok()) return failed(saved, is_everybodys);
  const double save_seconds = SecondsSince(saving_began);
  if (options.prints && summary.was_stopped) {
    progress.ClearLine();
    PrintStopped(summary, trainer.last_step(), keep);
  }

  // Nobody who stops a run waits for tests.
  Result<Evaluation> evaluated = Evaluation{.step = summary.steps_done};
  if (!summary.was_told_to_stop) evaluated = trainer.Evaluate(summary.steps_done);
  if (!evaluated.ok()) return failed(evaluated.status(), trainer.is_failure_agreed());

  if (options.prints) {
    Result<RowFacts> facts = AskForRows(client, *dialer, clock, summary.steps_done, *step.rows());
    saved = facts.ok() ? save(facts.value().digest) : facts.status();
    if (saved.ok()) {
      const RunOutcome outcome{.summary = summary,
                               .evaluation = evaluated.value(),
                               .auc_ceiling = data->TestAucCeiling(),
                               .rows = std::move(facts).value(),
                               .phases = {.start = started_after,
                                          .test = trainer.evaluation_seconds(),
                                          .save = save_seconds},
                               .memory_plan = std::move(memory_plan)};
      const bool has_trained = summary.steps_done > job.first_step() || !job.is_load;
      if (!has_trained) {
        fmt::print(
            "nothing was left to train: the model was at step {} of {} already; more "
            "--nepochs go on, and its report stays as it was\n",
            summary.steps_done, trainer.last_step());
      }
      if (!settings.report_path().empty() && has_trained) {
        saved = AsFaultOfTheWorld(WriteReport(
            ReportOf(settings, options, job, shards, std::move(traffic), progress, outcome),
            settings.report_path()));
      }
      progress.ClearLine();
      PrintOutcome(settings, outcome);
    }
  }
  saved = AgreeOnOne(saving, saved, "ending the run", &is_everybodys);
  if (!saved.ok()) return failed(saved, is_everybodys);
  *is_agreed = true;
  training_waits.reset();  // The nodes are told to go.
  saving_waits.reset();
  const RendezvousOptions parting{.worker = workers.rank(),
                                  .host = options.host,
                                  .deadline_ms = settings.cluster.rendezvous_deadline_ms};
  return Agree(workers, PartFromNodes(parting, job.job_id, options.nodes, transport, clock),
               "parting from the PS nodes");
}

}  // namespace rowhouse
