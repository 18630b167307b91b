#include "launch/run/worker_run.h"

#include <fmt/core.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "common/clean_text.h"
#include "common/counted.h"
#include "common/kill_point.h"
#include "launch/hosts/cluster.h"
#include "launch/model/last_save.h"
#include "launch/model/manifest.h"
#include "launch/profile/run_profiler.h"
#include "launch/report/debug_print.h"
#include "launch/report/restarts.h"
#include "launch/run/checkpoints.h"
#include "launch/run/early_stop.h"
#include "launch/run/id_recording.h"
#include "launch/run/prepared_run.h"
#include "launch/run/run_outcome.h"
#include "launch/run/shard_links.h"
#include "launch/settings/going_on.h"
#include "launch/settings/yaml_config.h"
#include "sharding/rows/rows_digest.h"
#include "worker/mpi/agreement.h"
#include "worker/train/slow_peers.h"

namespace rowhouse {
namespace {

// A run from its first step on: trains, saves, evaluates, prints the outcome and parts.
class WorkerRun {
 public:
  // `began`: when the worker began to prepare the run.
  WorkerRun(const WorkerSetup& setup, PreparedRun prepared, ShardLinks links, TimeNs began);

  WorkerRunResult Run();

 private:
  Status RunToTheEnd();
  Status Preview();
  Status CheckMovedRows();
  Status Train();
  // Collective: what is known of validations by earlier runs on the same data, and what is done
  // with those of this one.
  Status PrepareValidations();
  // Trains on with the rate that the validations so far lead to.
  void CutRateOnPlateaus();
  std::optional<RunReport::Best> Best() const;
  // Collective; all workers return the same.
  Status Profile(const std::function<Status()>& work, const std::string& phase);
  Status SaveTrained();
  Status Evaluate();
  Status Finish();
  // By the worker that prints: digest, manifest, report and the lines of the outcome.
  Status ReportOutcome();

  // Returns `status`; the nodes hear of it if all workers return it.
  Status Fail(const Status& status, bool is_everybodys);
  // Collective, of `workers`: what they agree on, which is no success if one of them failed.
  Status AgreeOrFail(Communicator& workers, const Status& mine, const std::string& phase);
  // Writes the model, waiting for room on the disk; nothing where no model is kept.
  Status SaveModelWith(const std::string& rows_digest);
  // The learning curve of the model, with this run as far as it came.
  TrainingHistory HistorySoFar() const;
  // All but the rows, as it is now, after `steps`.
  Result<Checkpoints::WriteModel> TakeModel(uint64_t steps, const std::string& rows_digest);
  Status PrintAllParameters(std::string_view title, uint64_t steps);
  // Where rows were found since the last call, for the lines of progress.
  std::string DescribeShards();
  bool keeps_model() const { return !setup_.settings.output.model_dir.empty(); }
  bool prints_all() const { return setup_.settings.training.debug_mode && setup_.options.prints; }

  const WorkerSetup& setup_;
  const TimeNs began_;
  PreparedRun run_;
  const JobSpec& job_ = run_.start.job;
  Dataset& data_ = *run_.opened.data;
  const ShardLinks links_;
  PsClient client_;
  std::optional<WaitingForRoom> training_waits_, saving_waits_;
  Progress progress_;
  const std::unique_ptr<LrPolicy> lr_policy_;
  Trainer trainer_;
  SlowPeers slow_peers_;
  Checkpoints checkpoints_;
  EarlyStop early_stop_;
  std::unique_ptr<Restarts> restarts_;  // on the worker that prints, if the run may be restarted
  IdRecording recording_;
  RunProfiler profiler_;

  TrainingTimes training_times_{client_, *links_.dialer, setup_.clock};
  RowsPulled pulled_before_;  // when DescribeShards was last called
  std::optional<NodePlan> memory_plan_;
  TrainingSummary summary_;
  Evaluation evaluation_;
  RunReport::Phases phases_;
  bool is_agreed_ = false;
};

WorkerRun::WorkerRun(const WorkerSetup& setup, PreparedRun prepared, ShardLinks links, TimeNs began)
    : setup_(setup),
      began_(began),
      run_(std::move(prepared)),
      links_(std::move(links)),
      client_({.job_id = job_.job_id,
               .worker = setup.workers.rank(),
               .row_precision = job_.row_precision,
               .deadline_ms = setup.settings.cluster.rpc_deadline_ms,
               .control_deadline_ms = setup.settings.cluster.save_deadline_ms,
               .room_deadline_ms = setup.settings.cluster.save_deadline_ms,
               .push_counts = DividesByLookups(job_.tables)},
              job_.plan, links_.shards),
      training_waits_(std::in_place, setup.workers, client_, *links_.dialer, setup.clock),
      saving_waits_(std::in_place, setup.saving, client_, *links_.dialer, setup.clock),
      progress_({.prints = setup.options.prints,
                 .is_terminal = IsWatchedOnTerminal(),
                 .describe_shards = [this] { return DescribeShards(); },
                 .describe_saves = [this] { return checkpoints_.DurableText(); }},
                setup.clock),
      lr_policy_(
          LrPolicies()
              .Make(setup.settings.training.lr_policy, setup.settings.training.lr_policy_options())
              .value()),
      trainer_(TrainerOptionsOf(setup.settings, job_), {.lr_policy = *lr_policy_,
                                                        .data = data_,
                                                        .step = *run_.step,
                                                        .client = client_,
                                                        .dialer = *links_.dialer,
                                                        .workers = setup.workers,
                                                        .clock = setup.clock,
                                                        .observer = progress_,
                                                        .stop = setup.stop}),
      slow_peers_(client_, trainer_.step_clock(), setup.workers, setup.clock),
      checkpoints_(setup, job_,
                   {.client = client_, .dialer = *links_.dialer, .progress = progress_},
                   [this](uint64_t steps) { return TakeModel(steps, ""); }),
      early_stop_(setup.settings.training.early_stop_metric,
                  setup.settings.training.early_stop_patience,
                  setup.settings.training.plateau_patience),
      recording_(setup.settings, Raw(setup.workers.rank()), setup.workers.size()),
      profiler_(setup.options.profile, setup.settings.output.model_dir, setup.options.host,
                setup.options.prints, job_.shards_per_node,
                {.client = client_,
                 .dialer = *links_.dialer,
                 .workers = setup.workers,
                 .clock = setup.clock}) {
  trainer_.set_after_step([this](uint64_t steps, bool* is_agreed) -> Status {
    *is_agreed = false;
    if (restarts_ != nullptr) restarts_->AfterStep(steps);
    ASSIGN_OR_RETURN(const std::string slow, slow_peers_.AfterStep());
    if (!slow.empty()) progress_.Note(slow);
    return checkpoints_.AfterStep(steps, is_agreed);
  });
  trainer_.set_after_pull([this](uint64_t step) { return checkpoints_.AfterPull(step); });
  if (recording_.is_on()) {
    trainer_.set_on_samples(
        [this](uint64_t step, const Batch& samples) { recording_.OnSamples(step, samples); });
  }
}

std::string WorkerRun::DescribeShards() {
  client_.StartStats(0);  // As they are now: no shard is waited for.
  if (!RunClient(client_, *links_.dialer, setup_.clock).ok()) return "";  // The next step says why.
  RowsPulled pulled;
  for (const StatsReply& shard : client_.replies().stats) pulled.Add(shard.pulled);
  const RowsPulled since = {.from_memory = pulled.from_memory - pulled_before_.from_memory,
                            .first_touched = pulled.first_touched - pulled_before_.first_touched,
                            .from_store = pulled.from_store - pulled_before_.from_store};
  pulled_before_ = pulled;
  return PartsOfPulledText(since, setup_.settings.storage.has_files());
}

Status WorkerRun::PrintAllParameters(std::string_view title, uint64_t steps) {
  return PrintParameters(title, steps, setup_.settings.training.print_precision, job_.tables,
                         run_.step->dense(), client_, *links_.dialer, setup_.clock);
}

Status WorkerRun::Fail(const Status& status, bool is_everybodys) {
  is_agreed_ = is_everybodys;
  if (is_everybodys) PartEarly(setup_, job_.job_id);
  return status;
}

Status WorkerRun::AgreeOrFail(Communicator& workers, const Status& mine, const std::string& phase) {
  bool is_everybodys = false;
  const Status all = AgreeOnOne(workers, mine, phase, &is_everybodys);
  return all.ok() ? all : Fail(all, is_everybodys);
}

Status WorkerRun::Preview() {
  if (setup_.options.prints) {
    memory_plan_ = MemoryPlanOf(setup_.settings, job_);
    PrintClean("{}", RunPreviewText(setup_.settings, job_, data_, trainer_.steps_per_epoch(),
                                    memory_plan_));
    std::fflush(stdout);
  }
  if (!prints_all()) return OkStatus();
  fmt::print("{}", ModelArchText(setup_.settings));
  RETURN_IF_ERROR(
      PrintData(trainer_.steps_per_epoch(), setup_.settings.data.mini_batch_size, data_));
  return PrintAllParameters("initial parameters (weights and bias):", job_.first_step());
}

// Rows that were moved for this run are those of the model, if both digests are known. Collective.
Status WorkerRun::CheckMovedRows() {
  Status same;
  if (setup_.options.prints && job_.is_load) {
    RowsDigest moved = run_.step->rows()->Digest();
    bool is_known = RowsDigest::FromHex(run_.start.rows_digest).ok();
    for (const ShardAddress& shard : links_.shards) {
      const Result<RowsDigest> digest = RowsDigest::FromHex(shard.rows_digest);
      is_known = is_known && digest.ok();
      if (is_known) moved.Merge(digest.value());
    }
    if (is_known && moved.hex() != run_.start.rows_digest) {
      same = CorruptionError(
          "--load: the rows that were moved to the shards of this run have digest {}, and those of "
          "the model had {}; rowhouse ckpt verify --model_dir={} says what is damaged",
          moved.hex(), run_.start.rows_digest, setup_.settings.output.model_dir);
    }
  }
  return Agree(setup_.workers, same, "comparing moved rows");
}

Status WorkerRun::PrepareValidations() {
  if (data_.valid_samples() == 0) return OkStatus();
  TrainingHistory earlier;
  earlier.validations = run_.start.history.validations;
  ASSIGN_OR_RETURN(const std::string shared,
                   BroadcastFromFirst(setup_.workers,
                                      Raw(setup_.workers.rank()) == 0 ? earlier.ToJsonText() : "",
                                      "sharing earlier validations"));
  ASSIGN_OR_RETURN(earlier, TrainingHistory::FromJsonText(shared));
  for (const RunReport::Evaluation& one : earlier.validations) {
    if (one.step > job_.first_step_of_data()) early_stop_.Take(one);
  }
  if (early_stop_.best()) checkpoints_.SetBest(early_stop_.best()->step);
  CutRateOnPlateaus();
  trainer_.set_after_validation(
      [this](const Evaluation& validation) {
        const uint64_t cuts = early_stop_.cuts();
        if (early_stop_.Take(Reported(validation))) checkpoints_.SetBest(validation.step);
        if (early_stop_.cuts() > cuts) CutRateOnPlateaus();
        return early_stop_.is_over();
      },
      early_stop_.is_over());
  return OkStatus();
}

void WorkerRun::CutRateOnPlateaus() {
  double factor = 1.0;
  for (uint64_t cut = 0; cut < early_stop_.cuts(); ++cut) {
    factor *= setup_.settings.training.plateau_factor;
  }
  trainer_.set_rate_factor(factor);
  if (factor == 1.0 || !setup_.options.prints) return;
  progress_.Note(
      fmt::format("learning rate: {:.3g} times lr_policy's, after {} of {} without a better one\n",
                  factor, Counted(early_stop_.cuts(), "plateau"),
                  Counted(setup_.settings.training.plateau_patience, "validation")));
}

std::optional<RunReport::Best> WorkerRun::Best() const {
  if (!early_stop_.best()) return std::nullopt;
  const RunReport::Evaluation& best = *early_stop_.best();
  const std::string& metric = setup_.settings.training.early_stop_metric;
  const std::string& model_dir = setup_.settings.output.model_dir;
  const bool is_kept =
      checkpoints_.is_on() && std::ranges::count(CheckpointsOf(model_dir), best.step) > 0;
  return RunReport::Best{.step = best.step,
                         .metric = metric,
                         .value = metric == "auc" ? best.auc.value() : best.logloss,
                         .checkpoint = is_kept ? CheckpointDirectory(model_dir, best.step) : ""};
}

Status WorkerRun::Train() {
  phases_.start = SecondsSince(began_, setup_.clock);
  if (setup_.options.prints) {
    restarts_ = Restarts::Begin(setup_.settings.output.model_dir, job_.first_step());
  }
  RETURN_IF_ERROR(PrepareValidations());
  bool is_everybodys = false;
  const Status ready = checkpoints_.Start(&is_everybodys);
  if (!ready.ok()) return Fail(ready, is_everybodys);
  if (!setup_.settings.output.record_ids.empty()) {
    RETURN_IF_ERROR(AgreeOrFail(setup_.workers, recording_.Start(), "recording ids"));
  }
  RETURN_IF_ERROR(Profile([this] { return profiler_.Begin(&trainer_); }, "beginning the profile"));
  if (setup_.options.prints) training_times_.Begin();
  Result<TrainingSummary> trained = trainer_.Train();
  recording_.Finish();
  if (!trained.ok()) return Fail(trained.status(), trainer_.is_failure_agreed());
  if (setup_.options.prints) training_times_.End();
  summary_ = std::move(trained).value();
  if (restarts_ != nullptr) restarts_->AfterStep(summary_.steps_done);  // the last one, too
  RETURN_IF_ERROR(
      Profile([this] { return profiler_.Take(*run_.step, trainer_); }, "taking the profile"));
  if (!prints_all()) return OkStatus();
  progress_.ClearLine();
  return PrintAllParameters("updated parameters (weights and bias):", summary_.steps_done);
}

Status WorkerRun::Profile(const std::function<Status()>& work, const std::string& phase) {
  return profiler_.is_on() ? AgreeOrFail(setup_.workers, work(), phase) : OkStatus();
}

TrainingHistory WorkerRun::HistorySoFar() const {
  const RunReport::Run run = {.started_at = setup_.options.started_at,
                              .first_step = job_.first_step(),
                              .steps = trainer_.steps_done(),
                              .samples = trainer_.samples_done(),
                              .seconds = trainer_.training_seconds(),
                              .data = setup_.settings.data.file,
                              .data_digest = data_.content_digest()};
  // A run that trained nothing leaves the curve as it was.
  if (job_.is_load && run.steps == run.first_step) return run_.start.history;
  return Continued(run_.start.history, run, progress_, evaluation_);
}

Result<Checkpoints::WriteModel> WorkerRun::TakeModel(uint64_t steps,
                                                     const std::string& rows_digest) {
  Manifest manifest;
  manifest.model_id = job_.model_id;
  manifest.config_digest = job_.config_digest;
  manifest.model_settings = ModelSettingsDigest(setup_.settings);
  manifest.steps = steps;
  manifest.steps_per_epoch = trainer_.steps_per_epoch();
  manifest.data_first_step = job_.first_step_of_data();
  if (early_stop_.best()) manifest.best_step = early_stop_.best()->step;
  manifest.rows_digest = rows_digest;
  manifest.data_digest = data_.content_digest();
  manifest.data_settings = DataSettingsDigest(setup_.settings);
  manifest.tables = job_.tables;
  manifest.plan = job_.plan;
  TrainingStep& step = *run_.step;
  const PlaceInData place = PlaceAfter(steps, data_, TrainerOptionsOf(setup_.settings, job_));
  ASSIGN_OR_RETURN(const DatasetState state, data_.StateAt(place.epoch, place.sample));
  std::vector<float> dense = MakeDenseFile(step.dense(), step.optimizer(), *step.rows());
  const size_t dense_values = dense.size() - step.rows()->saved_floats();
  return Checkpoints::WriteModel(
      [manifest, state, dense_values, dense = std::move(dense),
       config_yaml = WriteYamlText(setup_.settings), curve = HistorySoFar().ToJsonText()](
          const std::string& directory, std::vector<SavedShard> shards) mutable {
        manifest.shards = std::move(shards);
        return SaveModel(directory, manifest,
                         {.dense = dense,
                          .dense_values = dense_values,
                          .config_yaml = config_yaml,
                          .data = state,
                          .curve = curve});
      });
}

Status WorkerRun::SaveModelWith(const std::string& rows_digest) {
  if (!keeps_model()) return OkStatus();
  const std::string& directory = setup_.settings.output.model_dir;
  std::vector<SavedShard> shards;
  for (uint32_t s = 0; s < links_.shards.size(); ++s) {
    shards.push_back({.shard = ShardId{s},
                      .host = links_.shards[s].host,
                      .directory = links_.shards[s].directory,
                      .stamp = client_.replies().flushes[s].stamp});
  }
  ASSIGN_OR_RETURN(const Checkpoints::WriteModel write,
                   TakeModel(summary_.steps_done, rows_digest));
  const auto save = [&] { return AsFaultOfTheWorld(write(directory, shards)); };
  return UntilThereIsRoom({.what = "the model in " + directory,
                           .deadline_ms = setup_.settings.cluster.save_deadline_ms},
                          setup_.clock, save);
}

// Before the evaluation and the digest, which take their time: an operator who asked the run to
// stop may lose patience. The digest is put into the manifest afterwards.
Status WorkerRun::SaveTrained() {
  const TimeNs began = setup_.clock.NowNs();
  Status saved;
  if (setup_.options.prints && keeps_model()) {
    // The flushed rows and the files of the manifest make a model only together.
    saved = checkpoints_.End();
    if (saved.ok()) {
      client_.StartFlush(summary_.steps_done);
      saved = RunClient(client_, *links_.dialer, setup_.clock);
    }
    KillPoint("end.rows_flushed");
    if (saved.ok()) saved = SaveModelWith("");
  }
  RETURN_IF_ERROR(AgreeOrFail(setup_.saving, saved, "saving the model"));
  bool is_everybodys = false;
  KillPoint("end.model_saved");
  const Status kept = checkpoints_.AtTheEnd(summary_.steps_done, &is_everybodys);
  if (!kept.ok()) return Fail(kept, is_everybodys);
  phases_.save = SecondsSince(began, setup_.clock);
  if (setup_.options.prints && summary_.was_stopped) {
    progress_.ClearLine();
    PrintStopped(summary_, trainer_.last_step(), keeps_model());
  }
  return OkStatus();
}

Status WorkerRun::Evaluate() {
  evaluation_ = {.step = summary_.steps_done};
  if (summary_.was_told_to_stop)
    return OkStatus();  // An operator who stops a run waits for no test.
  Result<Evaluation> evaluated = trainer_.Evaluate(summary_.steps_done);
  if (!evaluated.ok()) return Fail(evaluated.status(), trainer_.is_failure_agreed());
  evaluation_ = std::move(evaluated).value();
  return OkStatus();
}

Status WorkerRun::ReportOutcome() {
  const Settings& settings = setup_.settings;
  ASSIGN_OR_RETURN(RowFacts facts,
                   AskForRows(client_, *links_.dialer, setup_.clock, summary_.steps_done,
                              *run_.step->rows(), settings.output.rows_digest));
  RETURN_IF_ERROR(SaveModelWith(facts.digest));
  const TimeNs tests_best = setup_.clock.NowNs();
  std::optional<RunReport::Best> best = Best();
  std::string why_best_untested =
      best ? TestBest(setup_, summary_, evaluation_, data_, &*best) : "";
  phases_.test = trainer_.evaluation_seconds() + SecondsSince(tests_best, setup_.clock);
  // One that was killed after its last step has its report to write.
  const bool is_restart = restarts_ != nullptr && !restarts_->before().empty();
  const bool has_trained = summary_.steps_done > job_.first_step() || !job_.is_load || is_restart;
  const RunOutcome outcome{
      .history = HistorySoFar(),
      .summary = summary_,
      .evaluation = evaluation_,
      .best = std::move(best),
      .why_best_untested = std::move(why_best_untested),
      .baseline = has_trained
                      ? BaselineOf(settings, data_.train_samples(), evaluation_, setup_.stop)
                      : std::nullopt,
      .auc_ceiling = data_.TestAucCeiling(),
      .rows = std::move(facts),
      .training_times = training_times_.by_shard(),
      .phases = phases_,
      .checkpoints = checkpoints_.is_on() ? std::optional(checkpoints_.figures()) : std::nullopt,
      .restarts = restarts_ == nullptr ? std::vector<RunReport::Restart>() : restarts_->before(),
      .memory_plan = std::move(memory_plan_),
      .prediction = PredictionOf(settings, setup_.options, job_, links_.shards, summary_),
      .promise = run_.start.promise};
  if (!has_trained) {
    fmt::print(
        "nothing was left to train: the model was at step {} of {} already; {}, and its report "
        "stays as it was\n",
        summary_.steps_done, trainer_.last_step(),
        early_stop_.is_over() ? "with a higher --early_stop_patience it goes on"
                              : "more --nepochs go on");
  }
  const RunReport report =
      ReportOf(settings, setup_.options, job_, links_.shards, std::move(run_.traffic), outcome);
  Status reported;
  if (!settings.report_path().empty() && has_trained) {
    reported = AsFaultOfTheWorld(WriteReport(report, settings.report_path()));
  }
  const Status profiled = AsFaultOfTheWorld(profiler_.Write());
  if (reported.ok()) reported = profiled;
  progress_.ClearLine();
  PrintClean("{}{}{}{}", checkpoints_.SummaryText(),
             restarts_ == nullptr ? "" : restarts_->SummaryText(), recording_.SummaryText(),
             profiler_.Text());
  PrintClean("{}", BestText(settings, outcome, trainer_.last_step()));
  if (evaluation_.samples > 0) fmt::print("{}", progress_.WarningOfOverfitting(evaluation_));
  PrintOutcome(settings, outcome, report);
  return reported;
}

Status WorkerRun::Finish() {
  return AgreeOrFail(setup_.saving, setup_.options.prints ? ReportOutcome() : OkStatus(),
                     "ending the run");
}

Status WorkerRun::RunToTheEnd() {
  RETURN_IF_ERROR(CheckMovedRows());
  RETURN_IF_ERROR(Preview());
  RETURN_IF_ERROR(Train());
  RETURN_IF_ERROR(SaveTrained());
  RETURN_IF_ERROR(Evaluate());
  RETURN_IF_ERROR(Finish());
  is_agreed_ = true;
  // The nodes end once this worker parts: they are asked nothing any more.
  training_waits_.reset();
  saving_waits_.reset();
  return Agree(setup_.workers,
               PartFromCluster(setup_, job_.job_id, setup_.settings.cluster.rendezvous_deadline_ms),
               "parting from the PS nodes");
}

WorkerRunResult WorkerRun::Run() {
  Status status = RunToTheEnd();  // which sets is_agreed_
  return {.status = std::move(status), .is_agreed = is_agreed_};
}

}  // namespace

WorkerRunResult RunWorker(const WorkerSetup& setup) {
  const TimeNs began = setup.clock.NowNs();
  omp_set_num_threads(static_cast<int>(setup.settings.training.threads));
  Result<PreparedRun> prepared = PrepareRun(setup);
  if (!prepared.ok()) return {.status = prepared.status()};
  if (prepared.value().was_stopped) {
    if (setup.options.prints) {
      PrintClean(
          "stopped while the rows of the model were moved; the same command goes on from "
          "there\n");
    }
    return {.status = OkStatus()};
  }
  Result<ShardLinks> links = MeetShards(setup, prepared.value().start.job);
  if (!links.ok()) return {.status = links.status()};
  WorkerRun run(setup, std::move(prepared).value(), std::move(links).value(), began);
  return run.Run();
}

}  // namespace rowhouse
