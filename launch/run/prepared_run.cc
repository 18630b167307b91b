#include "launch/run/prepared_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "common/clean_text.h"
#include "common/counted.h"
#include "common/status.h"
#include "launch/prediction/plan_of_run.h"
#include "launch/prediction/traffic_report.h"
#include "launch/run/run_data.h"
#include "launch/run/run_start.h"
#include "launch/run/worker_run.h"
#include "launch/settings/going_on.h"
#include "worker/data/dataset.h"
#include "worker/dense/dense_initialiser.h"
#include "worker/dense/matrix_product.h"
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
  Result<std::unique_ptr<WorkerRows>> rows = WorkerRows::Make(job.tables, job.plan);
  RETURN_IF_ERROR(Agree(setup.workers, rows.status(), "making the rows of the workers"));
  auto step = std::make_unique<TrainingStep>(
      TrainingStepOptions{.model = settings.model,
                          .tables = settings.embedding,
                          .optimizer = settings.dense_optimizer(),
                          .optimizer_options = settings.dense_optimizer_options(),
                          .pools_on_shards = job.plan.pooled_on_shards(),
                          .accumulation = settings.training.accumulation},
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
          .first_step = job.first_step(),
          .first_step_of_data = job.first_step_of_data(),
          .stop_after_steps = training.stop_after_steps,
          .prefetch_steps = settings.training.prefetch_steps};
}

Result<PreparedRun> PrepareRun(const WorkerSetup& setup) {
  const Settings& settings = setup.settings;
  Communicator& workers = setup.workers;
  PreparedRun run;
  RunStart start;
  const auto share_start = [&]() -> Status {
    RETURN_IF_ERROR(WarnOfMixedCpus(workers, setup.options));
    const WorkerRunOptions& options = setup.options;
    const RunHosts hosts = {.hosts = static_cast<uint32_t>(options.hosts.size()),
                            .cores = options.cores};
    ASSIGN_OR_RETURN(start, ShareStart(settings, static_cast<uint32_t>(options.nodes.size()),
                                       options.shards_per_node, hosts, workers));
    return OkStatus();
  };
  // A model's preprocessing maps its data. A new model's directory is made only once its data can
  // be read.
  if (settings.output.load) RETURN_IF_ERROR(share_start());
  ASSIGN_OR_RETURN(RunData opened, OpenRunData(setup, start));
  run.text = std::move(opened.text);
  run.data = std::move(opened.data);
  RETURN_IF_ERROR(CheckSize(*run.data, TrainerOptionsOf(settings, JobSpec())));
  if (!settings.output.load) RETURN_IF_ERROR(share_start());
  ASSIGN_OR_RETURN(run.step, MakeStep(setup, start, *run.data));
  RETURN_IF_ERROR(FindPlaceInData(setup, &start, *run.data));
  run.lock = std::move(start.lock);
  run.job = std::move(start.job);
  run.history = std::move(start.history);
  run.promise = std::move(start.promise);
  ASSIGN_OR_RETURN(run.traffic, EstimateTraffic(setup, run.job));
  return run;
}

}  // namespace rowhouse
