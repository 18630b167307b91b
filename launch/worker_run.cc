#include "launch/worker_run.h"

#include <fmt/core.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>
#include <thread>

#include "common/durable_file.h"
#include "common/numpy_random.h"
#include "launch/debug_print.h"
#include "launch/manifest.h"
#include "launch/plan_of_run.h"
#include "launch/report/report.h"
#include "launch/report/traffic_report.h"
#include "launch/terminal.h"
#include "launch/yaml_config.h"
#include "sharding/initialiser.h"
#include "sharding/plan_load.h"
#include "sharding/rows_digest.h"
#include "worker/agreement.h"
#include "worker/dense_initialiser.h"
#include "worker/matrix_product.h"
#include "worker/trainer.h"
#include "worker/waiting_for_room.h"
#include "worker/xavier.h"

namespace rowhouse {
namespace {

uint64_t RandomWord() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

// What rank 0 decides for all: the job, and the dense part it starts from.
struct Start {
  JobSpec job;
  std::vector<float> dense;  // parameters and optimizer state of a loaded model; else empty
};

// A result that cannot be kept is to be found before hours of training, not after.
Status CheckOutputDirectory(const std::string& directory, std::string_view flag) {
  Status status = MakeDirectoryDurably(directory);
  if (status.ok() && access(directory.c_str(), W_OK | X_OK) != 0) {
    status = StatusFromErrno(errno, "write into", directory);
  }
  if (status.ok()) return status;
  return UsageError("--{}: {}; give a directory that can be written", flag, status.message());
}

Status CheckOutputs(const Settings& settings) {
  if (!settings.output.model_dir.empty()) {
    RETURN_IF_ERROR(CheckOutputDirectory(settings.output.model_dir, "model_dir"));
  }
  const std::string report = std::filesystem::path(settings.output.report).parent_path();
  if (!report.empty()) {
    RETURN_IF_ERROR(CheckOutputDirectory(report, "report"));
  }
  return OkStatus();
}

// The records of rows on the workers are loaded as they were saved.
Status CheckRowsOnWorkers(const JobSpec& job, const Plan& saved) {
  for (const TableSpec& table : job.tables) {
    const bool is_there = job.plan.is_on_workers(table.id);
    if (saved.is_on_workers(table.id) != is_there) {
      return UsageError(
          "--load: the rows of table \"{}\" were saved {}; give the same strategy (or option "
          "remainder of its kind), they are not moved",
          table.name,
          is_there ? "on the shards, and are asked for on the workers"
                   : "on the workers, and are asked for on the shards");
    }
    if (saved.worker_rows(table.id) == job.plan.worker_rows(table.id)) continue;
    return UsageError(
        "--load: {} single rows of table \"{}\" were saved on the workers, {} are asked for there, "
        "and not the same ones; they are not moved: give the plan the model was saved with",
        saved.worker_rows(table.id).size(), table.name, job.plan.worker_rows(table.id).size());
  }
  return OkStatus();
}

Result<std::vector<TableTraffic>> TrafficOfRun(const Settings& settings, const Plan& plan,
                                               uint32_t workers) {
  std::optional<AccessCounts> counts;
  if (!settings.sharding.access_counts.empty()) {
    ASSIGN_OR_RETURN(counts, ReadAccessCounts(settings.sharding.access_counts));
  }
  return TrafficOf(settings.embedding, plan, StepShapeOf(settings, workers),
                   counts ? &*counts : nullptr);
}

Result<Start> PrepareStart(const Settings& settings, const WorkerRunOptions& options,
                           uint32_t workers) {
  const std::string& model_dir = settings.output.model_dir;
  Start start;
  JobSpec& job = start.job;
  job.job_id = RandomWord();
  job.model_id = fmt::format("{:016x}{:016x}", RandomWord(), RandomWord());
  job.config_digest = settings.config_digest();
  job.workers = workers;
  job.shards_per_node = options.shards_per_node;
  job.overwrite = settings.output.overwrite;
  job.tables = settings.embedding.physical;
  ASSIGN_OR_RETURN(job.plan, PlanOf(settings, static_cast<uint32_t>(options.nodes.size()),
                                    options.shards_per_node));
  ASSIGN_OR_RETURN(const std::vector<TableTraffic> traffic,
                   TrafficOfRun(settings, job.plan, workers));
  job.step_rows.resize(job.tables.size());
  for (const TableTraffic& table : traffic) job.step_rows[Raw(table.table)] = table.distinct_rows;
  if (!settings.output.load) {
    RETURN_IF_ERROR(CheckOutputs(settings));
    if (model_dir.empty()) return start;
    // A model that is kept says what its files of first values were.
    RETURN_IF_ERROR(SumUpFiles(&job.tables).Annotate("init_from, read by the first worker"));
    if (!HasManifest(model_dir)) return start;
    if (settings.output.overwrite) {
      RETURN_IF_ERROR(RemoveModel(model_dir));
      return start;
    }
    return UsageError(
        "--model_dir={} holds a trained model; go on from it with --load, delete it with "
        "--overwrite, or give another directory",
        model_dir);
  }
  ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(model_dir));
  if (manifest.config_digest != job.config_digest) {
    return UsageError(
        "--load: the model in {} was trained with other settings (digest {}, now {}); compare "
        "{}/config.yaml with --print_config: model, tables, data, batch, seed, rate and its "
        "schedule, optimizers and threads must stay",
        model_dir, manifest.config_digest, job.config_digest, model_dir);
  }
  for (TableSpec& table : job.tables) {
    // Whoever keeps rows of the table looks whether its file is still the same.
    const InitialiserOptions& saved = manifest.tables.at(Raw(table.id)).initialiser_options;
    table.initialiser_options.file_bytes = saved.file_bytes;
    table.initialiser_options.file_xxh3 = saved.file_xxh3;
  }
  RETURN_IF_ERROR(CheckRowsOnWorkers(job, manifest.plan));
  RETURN_IF_ERROR(CheckOutputs(settings));
  job.model_id = manifest.model_id;
  job.is_load = true;
  job.load = {
      .step = manifest.steps,
      .steps_per_epoch = manifest.steps_per_epoch,
      .plan_digest = manifest.plan.digest(),
      .shards = manifest.shards,
  };
  ASSIGN_OR_RETURN(start.dense, ReadDense(model_dir, manifest));
  return start;
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

std::string BytesOf(const std::vector<float>& floats) {
  return {reinterpret_cast<const char*>(floats.data()), floats.size() * sizeof(float)};
}

// Rank 0 prepares; everybody gets the same or the same error.
Result<Start> ShareStart(const Settings& settings, const WorkerRunOptions& options,
                         Communicator& workers) {
  Start start;
  Status status;
  if (Raw(workers.rank()) == 0) {
    Result<Start> prepared = PrepareStart(settings, options, workers.size());
    status = prepared.status();
    if (prepared.ok()) start = std::move(prepared).value();
  }
  RETURN_IF_ERROR(Agree(workers, status, "preparing the run"));
  const bool is_first = Raw(workers.rank()) == 0;
  ASSIGN_OR_RETURN(
      const std::string job_text,
      BroadcastFromFirst(workers, is_first ? start.job.ToJsonText() : "", "sharing the job"));
  ASSIGN_OR_RETURN(const std::string dense,
                   BroadcastFromFirst(workers, BytesOf(start.dense), "sharing the dense part"));
  ASSIGN_OR_RETURN(start.job, JobSpec::FromJsonText(job_text));
  start.dense.resize(dense.size() / sizeof(float));
  std::memcpy(start.dense.data(), dense.data(), dense.size());
  return start;
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
  FillFirstValues(settings.data.seed, &step.dense());
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
          .prefetch_steps = settings.storage.prefetch_steps};
}

// The reader's position goes on from the step only if epochs are as long as they were.
Status CheckSameData(const Settings& settings, const JobSpec& job, const Dataset& data) {
  const uint64_t steps = StepsPerEpoch(data, TrainerOptionsOf(settings, job));
  if (!job.is_load || steps == job.load.steps_per_epoch) return OkStatus();
  return UsageError(
      "--load: the data have {} steps an epoch, those the model in {} was trained on had {}; give "
      "the same data and --num_batches",
      steps, settings.output.model_dir, job.load.steps_per_epoch);
}

// One worker asks the shards; the others wait for what it found.
struct RowFacts {
  std::string digest;
  uint64_t rows = 0;
  std::vector<uint64_t> shard_rows;
  std::vector<StatsReply> stats;
  uint64_t worker_rows = 0;   // that exist on the workers
  uint64_t worker_bytes = 0;  // of all that are there
};

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

Status SaveRun(const Settings& settings, const JobSpec& job, const std::string& rows_digest,
               const std::vector<ShardAddress>& shards, uint64_t steps, uint64_t steps_per_epoch,
               TrainingStep& step) {
  Manifest manifest{.model_id = job.model_id,
                    .config_digest = job.config_digest,
                    .steps = steps,
                    .steps_per_epoch = steps_per_epoch,
                    .rows_digest = rows_digest,
                    .tables = job.tables,
                    .plan = job.plan,
                    .shards = {},
                    .dense_file = {},
                    .dense_checksum = {}};
  for (uint32_t s = 0; s < shards.size(); ++s) {
    manifest.shards.push_back({ShardId{s}, shards[s].host, shards[s].directory});
  }
  return SaveModel(settings.output.model_dir, std::move(manifest), DenseToSave(step),
                   WriteYamlText(settings));
}

std::optional<double> Defined(double value) {
  return std::isnan(value) || value < 0.0 ? std::nullopt : std::optional(value);
}

double RateOf(const TrainingSummary& summary) {
  return summary.seconds > 0.0 ? static_cast<double>(summary.samples) / summary.seconds : 0.0;
}

std::string CommandLineOfThisProcess() {
  const Result<std::string> arguments = ReadFile("/proc/self/cmdline");  // Ended by zeros.
  if (!arguments.ok()) return "";
  std::string text = arguments.value();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

// What the plan gave each PS node, and what came of it.
RunReport::Sharding ShardingOf(const Plan& plan, const std::vector<TableSpec>& tables,
                               std::vector<TableTraffic> traffic, uint32_t shards_per_node,
                               const RowFacts& facts) {
  RunReport::Sharding sharding{.plan_digest = plan.digest(),
                               .ps_nodes = {},
                               .worker_rows = facts.worker_rows,
                               .worker_bytes = facts.worker_bytes,
                               .traffic = std::move(traffic)};
  sharding.ps_nodes.resize(plan.shards() / shards_per_node);
  const PlanLoad load = LoadOf(tables, plan, /*accesses=*/nullptr);
  for (size_t s = 0; s < load.shards.size(); ++s) {
    sharding.ps_nodes[s / shards_per_node].placed_bytes += load.shards[s].bytes;
  }
  for (size_t s = 0; s < facts.stats.size(); ++s) {
    RunReport::PsNode& node = sharding.ps_nodes[s / shards_per_node];
    node.rows += facts.shard_rows[s];
    node.rows_pulled += facts.stats[s].rows_pulled;
    node.rows_pushed += facts.stats[s].rows_pushed;
    node.cache_bytes += facts.stats[s].cache_bytes;
  }
  return sharding;
}

RunReport MakeReport(const Settings& settings, const WorkerRunOptions& options, uint32_t workers,
                     const TrainingSummary& summary, uint64_t first_step, const Evaluation& last,
                     double ceiling, const Progress& progress, const RowFacts& facts,
                     RunReport::Sharding sharding, const std::vector<ShardAddress>& shards) {
  RunReport report;
  report.settings = settings;
  report.environment = {.hosts = options.hosts,
                        .cores = std::thread::hardware_concurrency(),
                        .workers = workers,
                        .ps_nodes = static_cast<uint32_t>(options.nodes.size()),
                        .shards = static_cast<uint32_t>(shards.size()),
                        .started_at = options.started_at,
                        .command_line = CommandLineOfThisProcess()};
  for (const TrainingProgress& point : progress.curve()) {
    report.curve.push_back(
        {.step = point.step,
         .epoch = point.epoch,
         .loss = point.loss,
         .accuracy = point.accuracy,
         .samples_per_second = static_cast<double>(point.samples) / point.seconds,
         .learning_rate = point.learning_rate});
  }
  std::vector<Evaluation> evaluations = progress.evaluations();
  if (last.samples > 0) evaluations.push_back(last);
  for (const Evaluation& evaluation : evaluations) {
    report.evaluations.push_back({.step = evaluation.step,
                                  .samples = evaluation.samples,
                                  .auc = Defined(evaluation.metrics.roc_auc),
                                  .logloss = evaluation.metrics.logloss,
                                  .accuracy = evaluation.metrics.accuracy});
  }
  report.totals = {.steps = summary.steps_done,
                   .samples = summary.samples,
                   .seconds = summary.seconds,
                   .samples_per_second = RateOf(summary),
                   .test_auc_ceiling = Defined(ceiling),
                   .was_stopped = summary.was_stopped};
  if (const uint64_t steps = summary.steps_done - first_step; steps > 0) {
    report.totals.median_step_ms = summary.median_step_seconds * 1e3;
    report.totals.wire_bytes_per_step =
        static_cast<double>(summary.wire_bytes) / static_cast<double>(steps);
  }
  report.sharding = std::move(sharding);
  report.rows = {.digest = facts.digest, .count = facts.rows};
  for (size_t s = 0; s < shards.size(); ++s) {
    const StatsReply& stats = facts.stats[s];
    report.shards.push_back({.name = shards[s].name,
                             .rows = facts.shard_rows[s],
                             .rows_pulled = stats.rows_pulled,
                             .rows_pushed = stats.rows_pushed,
                             .cache_hits = stats.cache_hits,
                             .cache_misses = stats.cache_misses,
                             .rows_evicted = stats.rows_evicted,
                             .rows_written = stats.rows_written,
                             .rows_overflowed = stats.rows_overflowed,
                             .cache_rows = stats.cache_rows,
                             .cache_bytes = stats.cache_bytes,
                             .rows_announced = stats.rows_announced,
                             .rows_prefetched = stats.rows_prefetched,
                             .pulls = stats.pulls,
                             .pulls_from_store = stats.pulls_from_store,
                             .rows_swept = stats.rows_swept,
                             .log_bytes = stats.log_bytes,
                             .store_rows_read = stats.store_rows_read,
                             .store_stalls = stats.store_stalls,
                             .store_stall_ms = stats.store_stall_ms,
                             .store_bytes_read = stats.store_bytes_read,
                             .store_bytes_written = stats.store_bytes_written,
                             .cache_bytes_moved = stats.cache_bytes_moved});
  }
  return report;
}

void PrintOutcome(const TrainingSummary& summary, const Evaluation& evaluation, double ceiling,
                  const RowFacts& facts, const std::string& report_path) {
  fmt::print("rows digest: {}\n", facts.digest);
  if (ceiling >= 0.0) {
    fmt::print("AUC ceiling of the planted model on these test samples: {:.4f}\n", ceiling);
  }
  const std::string tested =
      evaluation.samples == 0 ? std::string("no test samples")
                              : fmt::format("test AUC {:.4f} logloss {:.4f}",
                                            evaluation.metrics.roc_auc, evaluation.metrics.logloss);
  fmt::print("{}  {:.0f} samples/s{}\n", tested, RateOf(summary),
             report_path.empty() ? "" : "  report: " + report_path);
  std::fflush(stdout);
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
  *is_agreed = true;  // Until training starts every failure is everybody's.
  omp_set_num_threads(static_cast<int>(settings.training.threads));

  Result<std::unique_ptr<Dataset>> opened = Datasets().Make(settings.data_source(), settings.data);
  RETURN_IF_ERROR(Agree(workers, opened.status(), "opening the data"));
  const std::unique_ptr<Dataset> data = std::move(opened).value();

  RETURN_IF_ERROR(WarnOfMixedCpus(workers, options));
  ASSIGN_OR_RETURN(const Start start, ShareStart(settings, options, workers));
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

  RETURN_IF_ERROR(Agree(workers, CheckSameData(settings, job, *data), "comparing the data"));

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
                   .push_counts = DividesByLookups(job.tables)},
                  job.plan, shards);
  std::optional<WaitingForRoom> training_waits(std::in_place, workers, client, *dialer, clock);
  std::optional<WaitingForRoom> saving_waits(std::in_place, saving, client, *dialer, clock);
  Progress progress({.prints = options.prints,
                     .is_terminal = IsWatchedOnTerminal(),
                     .print_time = settings.training.print_time});
  const std::unique_ptr<LrPolicy> lr_policy =
      LrPolicies().Make(settings.training.lr_policy, settings.training.lr_policy_options()).value();
  Trainer trainer(TrainerOptionsOf(settings, job), *lr_policy, *data, step, client, *dialer,
                  workers, clock, progress, stop);
  const auto print_parameters = [&](std::string_view title, uint64_t steps) {
    return PrintParameters(title, steps, settings.training.print_precision, job.tables,
                           step.dense(), client, *dialer, clock);
  };
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
  const Result<TrainingSummary> trained = trainer.Train();
  if (!trained.ok()) return failed(trained.status(), trainer.is_failure_agreed());
  const TrainingSummary& summary = trained.value();
  if (prints_all) {
    progress.ClearLine();
    RETURN_IF_ERROR(print_parameters("updated parameters (weights and bias):", summary.steps_done));
  }
  const Result<Evaluation> evaluated = trainer.Evaluate(summary.steps_done);
  if (!evaluated.ok()) return failed(evaluated.status(), trainer.is_failure_agreed());
  const Evaluation& evaluation = evaluated.value();

  Status saved;
  if (options.prints) {
    // The model is whole as soon as its rows are flushed: their digest, which reads them all, comes
    // into the manifest afterwards.
    const bool keep = !settings.output.model_dir.empty();
    const auto save = [&](const std::string& rows_digest) {
      return keep ? SaveRun(settings, job, rows_digest, shards, summary.steps_done,
                            trainer.steps_per_epoch(), step)
                  : OkStatus();
    };
    if (keep) {
      client.StartFlush(summary.steps_done);
      saved = RunClient(client, *dialer, clock);
      if (saved.ok()) saved = save("");
    }
    Result<RowFacts> facts =
        saved.ok() ? AskForRows(client, *dialer, clock, summary.steps_done, *step.rows()) : saved;
    saved = facts.ok() ? save(facts.value().digest) : facts.status();
    if (saved.ok()) {
      const double ceiling = data->TestAucCeiling();
      if (!settings.report_path().empty()) {
        RunReport::Sharding sharding =
            ShardingOf(job.plan, job.tables, traffic, options.shards_per_node, facts.value());
        saved = WriteReport(
            MakeReport(settings, options, workers.size(), summary, job.first_step(), evaluation,
                       ceiling, progress, facts.value(), std::move(sharding), shards),
            settings.report_path());
      }
      progress.ClearLine();
      PrintOutcome(summary, evaluation, ceiling, facts.value(), settings.report_path());
    }
  }
  bool is_everybodys = false;
  saved = AgreeOnOne(saving, saved, "saving the model", &is_everybodys);
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
