#include "worker/train/trainer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/median.h"
#include "worker/embedding/slices.h"
#include "worker/mpi/agreement.h"

namespace rowhouse {

Trainer::Trainer(const TrainerOptions& options, const LrPolicy& lr_policy, Dataset& data,
                 TrainingStep& step, PsClient& client, Dialer& dialer, Communicator& workers,
                 const Clock& clock, TrainerObserver& observer, const std::atomic<bool>& stop)
    : options_(options),
      lr_policy_(lr_policy),
      data_(data),
      step_(step),
      client_(client),
      dialer_(dialer),
      workers_(workers),
      clock_(clock),
      observer_(observer),
      stop_(stop),
      lookahead_([this](uint64_t at, Batch* batch) { return ReadSamples(at, batch); },
                 step.embedding().tables(), options.prefetch_steps, LastStep(data, options)),
      evaluator_(options.test_mini_batch_size, data, step, client, dialer, workers, clock),
      phases_(clock, StepPhaseKinds()),
      shard_wire_bytes_(client.shards().size()) {
  step_.CountPhasesIn(&phases_);
  steps_done_ = options_.first_step;
  CHECK_GT(options_.mini_batch_size, 0u);
  CHECK_LE(options_.first_step_of_data, options_.first_step);
}

Status CheckSize(const Dataset& data, const TrainerOptions& options) {
  if (data.train_samples() != Dataset::kUnknownSamples || options.max_steps_per_epoch > 0) {
    return OkStatus();
  }
  return UsageError(
      "the data source does not know how many samples it has, so nobody knows when an epoch ends; "
      "give --num_batches");
}

uint64_t StepsPerEpoch(const Dataset& data, const TrainerOptions& options) {
  const uint64_t batch = options.mini_batch_size;
  const uint64_t samples = data.train_samples();  // kUnknownSamples is more than are ever read
  const uint64_t steps = samples / batch + (samples % batch != 0 ? 1 : 0);
  return options.max_steps_per_epoch == 0 ? steps : std::min(steps, options.max_steps_per_epoch);
}

uint64_t LastStep(const Dataset& data, const TrainerOptions& options) {
  return options.first_step_of_data + options.epochs * StepsPerEpoch(data, options);
}

PlaceInData PlaceAfter(uint64_t steps, const Dataset& data, const TrainerOptions& options) {
  const uint64_t per_epoch = StepsPerEpoch(data, options);
  if (per_epoch == 0) return {};
  const uint64_t of_data = steps - options.first_step_of_data;
  return {.epoch = of_data / per_epoch, .sample = of_data % per_epoch * options.mini_batch_size};
}

uint64_t Trainer::steps_per_epoch() const { return StepsPerEpoch(data_, options_); }

uint64_t Trainer::last_step() const { return LastStep(data_, options_); }

void Trainer::KeepSpans() {
  phases_.KeepSpans();
  pull_phases_ = ClientPhases::Of("pull", &phases_, &kept_times_.messages);
  push_phases_ = ClientPhases::Of("push", &phases_, &kept_times_.messages);
  step_.CountPhasesIn(&phases_);
}

Result<TrainingSummary> Trainer::Train() {
  phases_.Restart();
  const uint64_t per_epoch = steps_per_epoch();
  const uint64_t last = last_step();
  TrainingSummary summary;
  summary.steps_done = options_.first_step;
  while (summary.steps_done < last && !summary.was_stopped) {
    StepFigures figures;
    RETURN_IF_ERROR(RunStep(summary.steps_done, &figures));
    const uint64_t in_epoch = (summary.steps_done - options_.first_step_of_data) % per_epoch;
    const uint64_t samples = std::min(options_.mini_batch_size,
                                      data_.train_samples() - in_epoch * options_.mini_batch_size);
    samples_ += samples;
    steps_done_ = ++summary.steps_done;
    observer_.OnStep({.steps_done = summary.steps_done,
                      .last_step = last,
                      .samples = samples,
                      .loss_sum = figures.loss_sum,
                      .loss_samples = figures.samples});
    const uint64_t done = summary.steps_done;
    const uint64_t of_run = done - options_.first_step;
    summary.was_stopped = is_stop_agreed_ || of_run == options_.stop_after_steps;
    const bool is_epoch_end = in_epoch + 1 == per_epoch;
    const bool is_end = done == last || summary.was_stopped;
    const auto is_due = [&](uint64_t every) {
      return every > 0 && ((in_epoch + 1) % every == 0 || is_epoch_end);
    };
    const bool tests = data_.test_samples() > 0 && is_due(options_.test_every_steps);
    // As DLRM: a line before each test, and the next line counts from there.
    if (is_due(options_.print_every_steps) || (options_.print_every_steps > 0 && tests)) {
      RETURN_IF_ERROR(Report(done, is_epoch_end));
    }
    if (tests && !is_end) {  // The caller evaluates at the end of the run.
      ASSIGN_OR_RETURN(const Evaluation evaluation, Evaluate(done));
      observer_.OnEvaluation(evaluation);
    }
    if (after_step_ && !is_end) RETURN_IF_ERROR(after_step_(done, &is_failure_agreed_));
  }
  summary.was_stopped = summary.was_stopped && summary.steps_done < last;
  summary.was_told_to_stop = summary.was_stopped && is_stop_agreed_;
  summary.samples = samples_;
  summary.seconds = seconds_;
  summary.median_step_seconds =
      step_seconds_.values().empty() ? 0.0 : MedianOf(step_seconds_.values());
  summary.phases = StepPhasesOf(phases_);
  ASSIGN_OR_RETURN(summary.of_all, GatherSteps({.median_seconds = summary.median_step_seconds,
                                                .phases = summary.phases},
                                               shard_wire_bytes_, workers_));
  for (const uint64_t bytes : summary.of_all.shard_wire_bytes) summary.wire_bytes += bytes;
  return summary;
}

Trainer::SamplesOfStep Trainer::SamplesOf(uint64_t step) const {
  const uint64_t per_epoch = steps_per_epoch();
  const uint64_t of_data = step - options_.first_step_of_data;
  const uint64_t first = (of_data % per_epoch) * options_.mini_batch_size;
  const uint64_t global = std::min(options_.mini_batch_size, data_.train_samples() - first);
  const SampleSlice mine = SliceOf(global, workers_.size(), workers_.rank());
  return {.epoch = of_data / per_epoch,
          .global = global,
          .first = first + mine.first,
          .count = mine.count};
}

Status Trainer::ReadSamples(uint64_t step, Batch* batch) {
  const TimeNs start = clock_.NowNs();
  const SamplesOfStep samples = SamplesOf(step);
  const Status read = data_.ReadTrain(samples.epoch, samples.first, samples.count, batch);
  interval_data_seconds_ += SecondsSince(start, clock_);
  return read;
}

void Trainer::NoteMessages(uint64_t bytes_before) {
  most_message_bytes_ = std::max(most_message_bytes_, client_.moved_bytes().all - bytes_before);
}

Status Trainer::PullComputePush(uint64_t step, float learning_rate, StepFigures* figures) {
  ASSIGN_OR_RETURN(const Batch* const batch, lookahead_.Take(step));
  if (on_samples_) on_samples_(step, *batch);
  End(StepPhase::kData, batch->samples);

  // Errors name the samples of the batch by their place in the data.
  const SamplesOfStep samples = SamplesOf(step);
  const auto in_batch = [&](const Status& status) {
    return status.Annotate(
        fmt::format("step {} (epoch {}, samples from {})", step, samples.epoch, samples.first));
  };
  RETURN_IF_ERROR(in_batch(step_.Prepare(*batch)));
  const uint64_t rows = step_.distinct_rows();
  End(StepPhase::kMerge, rows);
  const uint64_t bytes_before_pull = client_.moved_bytes().all;
  client_.StartPull(step, /*eval=*/false, &step_.row_batches(), &step_.bag_batches());
  RETURN_IF_ERROR(RunClient(client_, dialer_, clock_, pull_phases_));
  NoteMessages(bytes_before_pull);
  End(StepPhase::kPull, rows);

  // After the pull, which must not wait for them; shards read while this worker computes.
  lookahead_.OnPulled(client_.has_pull_waited());
  uint64_t to_come = 0;
  while (const std::vector<RowBatch>* later = lookahead_.NextToPrefetch(&to_come)) {
    client_.Prefetch(to_come, *later);
  }
  RETURN_IF_ERROR(RunClient(client_, dialer_, clock_));
  End(StepPhase::kData);

  if (stop_.load(std::memory_order_relaxed)) step_.AskToStop();
  const Result<StepFigures> computed = step_.Compute(samples.global);
  RETURN_IF_ERROR(in_batch(computed.status()));
  *figures = computed.value();
  End(StepPhase::kOther);
  const uint64_t bytes_before_push = client_.moved_bytes().all;
  client_.StartPush(step, learning_rate, samples.count, &step_.row_batches());
  const Status pushed = RunClient(client_, dialer_, clock_, push_phases_);
  NoteMessages(bytes_before_push);
  End(StepPhase::kPush, rows);
  return pushed;
}

Status Trainer::SumOverWorkers(uint64_t step, const std::string& phase) {
  End(StepPhase::kOther);
  const TimeNs came = phases_.began();
  const Status summed = workers_.SumInRankOrder(step_.allreduce(), phase);
  End(StepPhase::kAllreduce, step_.allreduce().size());
  std::vector<AllreduceTimes>& kept = kept_times_.allreduces;
  if (phases_.keeps_spans() && workers_.size() > 1 && kept.size() < KeptTimes::kMostAllreduces) {
    kept.push_back({.step = step, .begin = came, .end = phases_.began()});
  }
  return summed;
}

Status Trainer::RunStep(uint64_t step, StepFigures* of_step) {
  const TimeNs start = clock_.NowNs();
  phases_.set_step(step);
  End(StepPhase::kBetween);
  shard_bytes_before_ = client_.moved_bytes().by_shard;
  const auto learning_rate = static_cast<float>(lr_policy_.Rate(step));
  StepFigures& figures = *of_step;
  const Status mine = PullComputePush(step, learning_rate, &figures);
  if (!CanBeAgreedOn(mine)) return mine;
  // All workers come to this allreduce: no shard makes one wait for the push of one that gave up.
  if (!mine.ok()) step_.GiveUp();
  const std::string phase = fmt::format("step {}, dense gradients", step);
  const Status summed = SumOverWorkers(step, phase);
  if (!summed.ok()) return mine.ok() ? summed : mine;
  if (step_.has_any_worker_given_up()) {
    return AgreeIfPossible(workers_, mine, phase, &is_failure_agreed_);
  }
  const Result<bool> applied = step_.ApplyDense(learning_rate, step);
  if (!applied.ok()) return AgreeIfPossible(workers_, applied.status(), phase, &is_failure_agreed_);
  is_stop_agreed_ = applied.value();
  End(StepPhase::kDenseUpdate, step_.allreduce().size());

  interval_.loss_sum += figures.loss_sum;
  interval_.samples += figures.samples;
  interval_.correct += figures.correct;
  ++interval_steps_;
  const double seconds = SecondsSince(start, clock_);
  interval_seconds_ += seconds;
  seconds_ += seconds;
  step_seconds_.Add(static_cast<float>(seconds));
  for (size_t s = 0; s < shard_wire_bytes_.size(); ++s) {
    shard_wire_bytes_[s] += client_.moved_bytes().by_shard[s] - shard_bytes_before_[s];
  }
  End(StepPhase::kOther);
  return OkStatus();
}

Status Trainer::Report(uint64_t step, bool is_epoch_end) {
  ASSIGN_OR_RETURN(const std::vector<std::vector<std::byte>> all,
                   workers_.AllGather(std::as_bytes(std::span(&interval_, 1)),
                                      fmt::format("step {}, progress", step)));
  StepFigures sum;
  for (const std::vector<std::byte>& bytes : all) {
    StepFigures one;
    CHECK_EQ(bytes.size(), sizeof(one));
    std::memcpy(&one, bytes.data(), sizeof(one));
    sum.loss_sum += one.loss_sum;
    sum.samples += one.samples;
    sum.correct += one.correct;
  }
  const uint64_t per_epoch = steps_per_epoch();
  const uint64_t of_data = step - options_.first_step_of_data;
  const auto samples = static_cast<double>(sum.samples);
  observer_.OnProgress({.epoch = (of_data - 1) / per_epoch,
                        .step_of_epoch = is_epoch_end ? per_epoch : of_data % per_epoch,
                        .steps_per_epoch = per_epoch,
                        .step = step,
                        .loss = sum.loss_sum / samples,
                        .accuracy = static_cast<double>(sum.correct) / samples,
                        .samples = sum.samples,
                        .seconds = interval_seconds_,
                        .data_seconds = interval_data_seconds_,
                        .steps = interval_steps_,
                        .learning_rate = lr_policy_.Rate(step - 1)});
  interval_ = {};
  interval_steps_ = 0;
  interval_seconds_ = interval_data_seconds_ = 0.0;
  return OkStatus();
}

Result<Evaluation> Trainer::Evaluate(uint64_t steps) {
  phases_.Suspend();  // It computes with the layers of the step.
  Result<Evaluation> evaluation = evaluator_.Evaluate(steps, &is_failure_agreed_);
  phases_.Resume(Number(StepPhase::kBetween));
  return evaluation;
}

}  // namespace rowhouse
