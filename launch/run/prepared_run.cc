#include "launch/run/prepared_run.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "common/clean_text.h"
#include "common/counted.h"
#include "common/status.h"
#include "launch/figures/figure_text.h"
#include "launch/prediction/plan_of_run.h"
#include "launch/prediction/traffic_report.h"
#include "launch/settings/going_on.h"
#include "worker/data/dataset.h"
#include "worker/dense/dense_initialiser.h"
#include "worker/embedding/worker_rows.h"
#include "worker/mpi/agreement.h"
#include "worker/train/trainer.h"

namespace rowhouse {
namespace {

Status CheckSameOnAllHosts(const WorkerSetup& setup, const Dataset& data) {
  const std::string digest = data.content_digest();
  ASSIGN_OR_RETURN(const std::string of_first,
                   BroadcastFromFirst(setup.workers, digest, "comparing the data"));
  Status status;
  if (digest != of_first) {
    status = UsageError(
        "--data={} is another file on this worker's host than on the first worker's (digest {}, "
        "there {}); give all hosts the same",
        setup.settings.data.file, digest, of_first);
  }
  return Agree(setup.workers, status, "comparing the data");
}

// Whether step s of an epoch reads the samples that it read in the model's last run.
bool IsSameData(const Settings& settings, const LoadSpec& load, const Dataset& data,
                uint64_t steps_per_epoch) {
  // Some data have no digest.
  const bool has_same_content =
      load.data_digest.empty() || load.data_digest == data.content_digest();
  return has_same_content && load.data_settings == DataSettingsDigest(settings) &&
         load.steps_per_epoch == steps_per_epoch;
}

std::string NameOf(const Settings& settings) {
  return settings.data.file.empty() ? settings.data_generation : settings.data.file;
}

void PrintPlace(const WorkerSetup& setup, const RunStart& start, const Dataset& data,
                bool is_same) {
  const Settings& settings = setup.settings;
  const LoadSpec& load = start.job.load;
  const TrainerOptions options = TrainerOptionsOf(settings, start.job);
  const std::string model = fmt::format("going on from step {} of the model in {} (rows digest {})",
                                        load.step, settings.output.model_dir, start.rows_digest);
  if (is_same) {
    const PlaceInData place = PlaceAfter(load.step, data, options);
    PrintClean("{}, on the same data: at sample {} of epoch {}\n", model, place.sample,
               place.epoch);
  } else {
    const bool has_same_content =
        !load.data_digest.empty() && load.data_digest == data.content_digest();
    PrintClean("{}, on other {}, {} (digest {}, was {}): from the first sample, for {}\n", model,
               has_same_content ? "samples of the same data" : "data", NameOf(settings),
               data.content_digest().empty() ? "none" : data.content_digest(),
               load.data_digest.empty() ? "none" : load.data_digest,
               Counted(settings.training.nepochs, "epoch"));
  }
  if (!start.changes.empty()) PrintClean("changed since its last run: {}\n", start.changes);
  std::fflush(stdout);
}

// Collective; all workers return the same. A run that does not go on from a model begins with the
// first sample of its data. One that does:
//   on the data of its last run (the same content, chosen by the same settings): with the next
//     sample of the epoch, to the bits of a run that never stopped;
//   on other data: with their first sample. Then sets start->job.load.data_first_step.
// The worker that prints says which. kUsage for data that differ between hosts, and for data that
// were not mapped as the model's were.
Status FindPlaceInData(const WorkerSetup& setup, RunStart* start, Dataset& data) {
  RETURN_IF_ERROR(CheckSameOnAllHosts(setup, data));
  JobSpec& job = start->job;
  if (!job.is_load) return OkStatus();
  const Settings& settings = setup.settings;
  const bool is_same =
      IsSameData(settings, job.load, data, StepsPerEpoch(data, TrainerOptionsOf(settings, job)));
  if (!is_same) job.load.data_first_step = job.load.step;
  const PlaceInData place = PlaceAfter(job.first_step(), data, TrainerOptionsOf(settings, job));
  // Files, such as a preprocessing, are of the model; the position is of the data.
  const DatasetState saved = {.position = is_same ? start->data.position : "",
                              .files = start->data.files};
  RETURN_IF_ERROR(Agree(setup.workers, data.GoOnFrom(place.epoch, place.sample, saved),
                        "going on in the data"));
  if (setup.options.prints) PrintPlace(setup, *start, data, is_same);
  return OkStatus();
}

// The promise of equal bits over runs holds for one instruction set; replicas never drift apart,
// because oneDNN makes gradients only. So f32 warns of mixed CPUs. Products of bf16 differ more
// between CPUs, and refuse them. All workers return the same.
Status CheckCpus(Communicator& workers, const WorkerRunOptions& options, ElementType precision) {
  const int mine = OneDnnCpuIsa();
  ASSIGN_OR_RETURN(const auto all, workers.AllGather(std::as_bytes(std::span(&mine, 1)),
                                                     "comparing instruction sets"));
  const bool are_same =
      std::all_of(all.begin(), all.end(), [&](const auto& one) { return one == all.front(); });
  if (precision == ElementType::kBf16) {
    // Equal sets have equal products.
    if (!are_same) {
      return UsageError(
          "dense_precision=bf16: workers have CPUs of different instruction sets, so that the same "
          "run on other hosts would give other bits; ONEDNN_MAX_CPU_ISA on all of them pins the "
          "lowest, or take dense_precision=f32");
    }
    if (!HasProductsOf(precision)) {
      return UsageError(
          "dense_precision=bf16 needs CPUs with AVX-512, and those of the workers have none (or "
          "ONEDNN_MAX_CPU_ISA forbids it): take dense_precision=f32");
    }
  }
  LOG_IF(WARNING, !are_same && options.prints)
      << "workers have CPUs of different instruction sets: the same run on other hosts may give "
         "other bits; ONEDNN_MAX_CPU_ISA pins the lowest";
  return OkStatus();
}

// The dense part of a new model, or, where `loaded` has floats, of a saved one.
Status FillDense(const Settings& settings, const std::vector<float>& loaded, Dataset& data,
                 TrainingStep& step) {
  if (!loaded.empty()) {
    return LoadDenseFile(loaded, &step.dense(), &step.optimizer(), step.rows());
  }
  const std::vector<TableSpec>& tables = settings.embedding.physical;
  if (settings.printing_draws > 0) {
    InitialiseDense(settings.data.seed, tables, data.GeneratorAfterEpoch().value(), step.model(),
                    &step.dense());
  } else {
    InitialiseDense(settings.data.seed, tables, step.model(), &step.dense());
  }
  return OkStatus();
}

// The model of the run with its dense parameters.
Result<std::unique_ptr<TrainingStep>> MakeStep(const WorkerSetup& setup, const RunStart& start,
                                               Dataset& data) {
  const Settings& settings = setup.settings;
  const JobSpec& job = start.job;
  Result<std::unique_ptr<WorkerRows>> rows =
      WorkerRows::Make(job.tables, job.plan, job.row_precision);
  RETURN_IF_ERROR(Agree(setup.workers, rows.status(), "making the rows of the workers"));
  auto step = std::make_unique<TrainingStep>(
      TrainingStepOptions{.model = settings.model,
                          .tables = settings.embedding,
                          .optimizer = settings.dense_optimizer(),
                          .optimizer_options = settings.dense_optimizer_options(),
                          .pools_on_shards = job.plan.pooled_on_shards(),
                          .accumulation = settings.training.accumulation,
                          .seed = settings.data.seed,
                          .lookup_l2 = settings.training.lookup_l2},
      std::move(rows).value());
  RETURN_IF_ERROR(Agree(setup.workers, FillDense(settings, start.dense, data, *step),
                        "initialising the dense part"));
  return step;
}

// What the plan will move, on the worker that prints, which gives hints on it.
Result<std::vector<TableTraffic>> EstimateTraffic(const WorkerSetup& setup, const JobSpec& job) {
  std::vector<TableTraffic> traffic;
  Status estimated;
  if (setup.options.prints) {
    Result<std::vector<TableTraffic>> found =
        TrafficOfRun(setup.settings, job.plan, setup.workers.size());
    estimated = found.status();
    if (found.ok()) traffic = std::move(found).value();
    // A plan that is given, or made by predicted times, has its own choice.
    if (setup.settings.sharding.plan.empty()) {
      PrintClean("{}", TrafficHints(setup.settings.embedding, traffic));
    }
  }
  RETURN_IF_ERROR(Agree(setup.workers, estimated, "estimating what the plan moves"));
  return traffic;
}

}  // namespace

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
          .progressive_every_steps = training.progressive_freq,
          .first_step = job.first_step(),
          .first_step_of_data = job.first_step_of_data(),
          .stop_after_steps = training.stop_after_steps,
          .prefetch_steps = settings.training.prefetch_steps};
}

Result<PreparedRun> PrepareRun(const WorkerSetup& setup) {
  const Settings& settings = setup.settings;
  Communicator& workers = setup.workers;
  PreparedRun run;
  RunStart& start = run.start;
  const auto share_start = [&]() -> Status {
    RETURN_IF_ERROR(CheckCpus(workers, setup.options, settings.model.precision()));
    const WorkerRunOptions& options = setup.options;
    const RunHosts hosts = {.hosts = static_cast<uint32_t>(options.hosts.size()),
                            .cores = options.cores,
                            .share_rows = options.share_rows};
    ASSIGN_OR_RETURN(start, ShareStart(settings, static_cast<uint32_t>(options.nodes.size()),
                                       options.shards_per_node, hosts, workers));
    return OkStatus();
  };
  // A model's preprocessing maps its data. A new model's directory is made only once its data can
  // be read.
  if (settings.output.load) RETURN_IF_ERROR(share_start());
  ASSIGN_OR_RETURN(run.opened, OpenRunData(setup, start));
  Dataset& data = *run.opened.data;
  RETURN_IF_ERROR(CheckSize(data, TrainerOptionsOf(settings, JobSpec())));
  if (!settings.output.load) RETURN_IF_ERROR(share_start());
  ASSIGN_OR_RETURN(const bool are_moved, MoveRowsOfModel(settings, setup.stop, &start, workers));
  if (!are_moved) {
    run.was_stopped = true;
    return run;
  }
  if (setup.options.prints) {
    fmt::print("{}", PrecisionAdvice(settings.model.precision(), &MeasureBf16Time));
  }
  ASSIGN_OR_RETURN(run.step, MakeStep(setup, start, data));
  start.dense = {};
  RETURN_IF_ERROR(FindPlaceInData(setup, &start, data));
  ASSIGN_OR_RETURN(run.traffic, EstimateTraffic(setup, start.job));
  return run;
}

// ---- What a run prints before it trains ---------------------------------------------------------

namespace {

std::string Count(uint64_t number) { return CountText(static_cast<double>(number)); }

std::string DataLine(const Settings& settings, const Dataset& data, uint64_t steps_per_epoch) {
  const std::string file = settings.data.file.empty() ? "" : " " + settings.data.file;
  return fmt::format(
      "data    {}{}: {} samples to train on, {}{} to test on; {} {} of {} an epoch, {}\n",
      settings.data_source(), file,
      data.train_samples() == Dataset::kUnknownSamples ? "nobody knows how many"
                                                       : Count(data.train_samples()),
      data.valid_samples() == 0 ? "" : Count(data.valid_samples()) + " to validate on, ",
      data.test_samples() == 0 ? "none" : Count(data.test_samples()), Count(steps_per_epoch),
      steps_per_epoch == 1 ? "step" : "steps",
      Count(settings.data.mini_batch_size * settings.training.accumulation),
      Counted(settings.training.nepochs, "epoch"));
}

std::string ModelLine(const Settings& settings, const JobSpec& job) {
  uint64_t rows = 0;
  for (const TableSpec& table : job.tables) rows += table.rows;
  const bool is_bf16 = settings.model.precision() == ElementType::kBf16;
  const RowPrecision& of_rows = job.row_precision;
  return fmt::format("model   bottom MLP {}, top MLP {}, {}{}{}{}; {} with {} rows\n",
                     fmt::join(settings.model.bottom_mlp, "-"),
                     fmt::join(settings.model.top_mlp, "-"), settings.model.interaction,
                     is_bf16 ? ", layers in bf16" : "",
                     of_rows.pull == Precision::kBf16 ? ", pulls in bf16" : "",
                     of_rows.push == Precision::kBf16 ? ", pushes in bf16" : "",
                     Counted(job.tables.size(), "table"), Count(rows));
}

// Of what makes training losses differ from those of tests; "" if nothing does.
std::string TrainingLine(const Settings& settings) {
  std::string text;
  for (const auto& [name, value] : settings.model.loss_own) {
    text += fmt::format("{}={}, ", name, value);
  }
  const auto [bottom, top] = std::pair(settings.model.dropout_bot, settings.model.dropout_top);
  if (bottom > 0.0) text += fmt::format("dropout_bot={}, ", bottom);
  if (top > 0.0) text += fmt::format("dropout_top={}, ", top);
  if (settings.model.batch_norm) text += "batch_norm of a step's samples, ";
  if (text.empty()) return "";
  text.resize(text.size() - 2);
  return fmt::format(
      "losses  of training are with {}; scores of tests and validations are without\n", text);
}

std::string MemoryLine(const std::optional<NodePlan>& memory) {
  if (!memory) return "memory  that of PS nodes started by hand is theirs to say\n";
  std::string nodes;
  for (size_t n = 0; n < memory->nodes.size(); ++n) {
    constexpr size_t kMaxNodes = 4;
    if (n == kMaxNodes) {
      nodes += fmt::format(" and {} more", memory->nodes.size() - kMaxNodes);
      break;
    }
    nodes += fmt::format("{}PS node {} {}", n == 0 ? "" : ", ", n,
                         BytesText(static_cast<double>(memory->nodes[n].memory.total())));
  }
  return fmt::format("memory  predicted: {} ({})\n", nodes,
                     memory->touched == "run" ? "with the rows that this run looks up"
                                              : "if all rows are looked up");
}

std::string KeptLine(const Settings& settings) {
  std::string text = "keeps   ";
  if (settings.output.model_dir.empty()) {
    text += "nothing: --model_dir=DIRECTORY keeps the model";
    if (!settings.row_directory().empty()) text += "; rows in " + settings.row_directory();
  } else {
    text += fmt::format("the model in {}, its rows in {}", settings.output.model_dir,
                        !settings.storage.has_files() ? "memory" : settings.row_directory());
  }
  if (!settings.report_path().empty()) text += ", a report in " + settings.report_path();
  return text + "\n";
}

}  // namespace

std::string PrecisionAdvice(ElementType precision, double (*bf16_time)()) {
  if (precision != ElementType::kBf16) return "";
  const double times = bf16_time();
  if (times < 1.0) return "";
  return fmt::format(
      "dense_precision=bf16: a product takes {:.2f} times as long as in f32 on this CPU; "
      "dense_precision=f32 is faster\n",
      times);
}

std::optional<NodePlan> MemoryPlanOf(const Settings& settings, const JobSpec& job) {
  if (!settings.cluster.ps_endpoints.empty()) return std::nullopt;
  std::optional<AccessCounts> counts;
  if (const std::string& file = settings.sharding.access_counts; !file.empty()) {
    Result<AccessCounts> read = ReadAccessCounts(file);
    if (read.ok()) counts = std::move(read).value();
  }
  for (const char* touched_rows : {"run", "all"}) {
    Result<NodePlan> plan = NodePlanOf(settings, job.plan, job.shards_per_node, job.workers,
                                       touched_rows, counts ? &*counts : nullptr);
    if (plan.ok()) return std::move(plan).value();
  }
  return std::nullopt;
}

std::string RunPreviewText(const Settings& settings, const JobSpec& job, const Dataset& data,
                           uint64_t steps_per_epoch, const std::optional<NodePlan>& memory) {
  return DataLine(settings, data, steps_per_epoch) + ModelLine(settings, job) +
         TrainingLine(settings) + MemoryLine(memory) + KeptLine(settings);
}

}  // namespace rowhouse
