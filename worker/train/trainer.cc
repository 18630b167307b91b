#include "worker/train/trainer.h"

#include <algorithm>
#include <cstring>

#include "worker/embedding/slices.h"
#include "worker/mpi/agreement.h"

namespace rowhouse {
namespace {

// Collective: of the steps that `clock` has seen, on all workers.
Status AddTimes(const StepClock& clock, Communicator& workers, TrainingSummary* summary) {
  summary->seconds = clock.seconds();
  const WorkerSteps mine = clock.steps();
  summary->median_step_seconds = mine.median_seconds;
  summary->phases = mine.phases;
  ASSIGN_OR_RETURN(summary->of_all, GatherSteps(mine, clock.shard_bytes(), workers));
  for (const uint64_t bytes : summary->of_all.shard_wire_bytes) summary->wire_bytes += bytes;
  return OkStatus();
}

}  // namespace

Trainer::Trainer(const TrainerOptions& options, const TrainerParts& parts)
    : options_(options),
      with_(parts),
      lookahead_([this](uint64_t at, Batch* batch) { return ReadSamples(at, batch); },
                 parts.step.embedding().tables(), options.prefetch_steps,
                 LastStep(parts.data, options)),
      evaluator_(options.test_mini_batch_size, parts.data, parts.step, parts.client, parts.dialer,
                 parts.workers, parts.clock),
      clock_(parts.clock, parts.client),
      steps_done_(options.first_step) {
  with_.step.CountPhasesIn(&clock_.phases());
  with_.step.SumOverWorkersBy([this](std::span<float> values) {
    return with_.workers.SumInRankOrder(values,
                                        fmt::format("step {}, batch statistics", steps_done_));
  });
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

uint64_t Trainer::steps_per_epoch() const { return StepsPerEpoch(with_.data, options_); }

uint64_t Trainer::last_step() const { return LastStep(with_.data, options_); }

void Trainer::KeepSpans() {
  clock_.KeepSpans();
  with_.step.CountPhasesIn(&clock_.phases());
}

Result<TrainingSummary> Trainer::Train() {
  clock_.phases().Restart();
  const uint64_t per_epoch = steps_per_epoch();
  const uint64_t last = last_step();
  TrainingSummary summary;
  summary.steps_done = options_.first_step;
  while (summary.steps_done < last && !summary.was_stopped && !is_over_) {
    StepFigures figures;
    RETURN_IF_ERROR(RunStep(summary.steps_done, &figures));
    const uint64_t in_epoch = (summary.steps_done - options_.first_step_of_data) % per_epoch;
    const uint64_t samples = std::min(
        options_.mini_batch_size, with_.data.train_samples() - in_epoch * options_.mini_batch_size);
    samples_ += samples;
    steps_done_ = ++summary.steps_done;
    with_.observer.OnStep({.steps_done = summary.steps_done,
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
    const bool validates = with_.data.valid_samples() > 0 && is_due(options_.test_every_steps);
    const bool tests = with_.data.valid_samples() == 0 && with_.data.test_samples() > 0 &&
                       is_due(options_.test_every_steps);
    // As DLRM: a line before each test, and the next line counts from there.
    if (is_due(options_.print_every_steps) ||
        (options_.print_every_steps > 0 && (tests || validates))) {
      RETURN_IF_ERROR(Report(done, is_epoch_end));
    }
    if (is_due(options_.progressive_every_steps) ||
        (options_.progressive_every_steps > 0 && is_end)) {
      RETURN_IF_ERROR(EndProgressiveWindow(done));
    }
    // Also where the run ends, so that one that goes on knows all that another knows.
    if (validates) {
      ASSIGN_OR_RETURN(const Evaluation evaluation, Evaluate(Scored::kValid, done));
      with_.observer.OnEvaluation(evaluation);
      is_over_ = after_validation_ && after_validation_(evaluation);
    }
    if (tests && !is_end) {  // The caller evaluates at the end of the run.
      ASSIGN_OR_RETURN(const Evaluation evaluation, Evaluate(done));
      with_.observer.OnEvaluation(evaluation);
    }
    if (after_step_ && !is_end && !is_over_)
      RETURN_IF_ERROR(after_step_(done, &is_failure_agreed_));
  }
  summary.was_stopped = summary.was_stopped && summary.steps_done < last;
  summary.ended_early = is_over_ && summary.steps_done < last;
  summary.was_stopped = summary.was_stopped && !summary.ended_early;
  summary.was_told_to_stop = summary.was_stopped && is_stop_agreed_;
  summary.samples = samples_;
  RETURN_IF_ERROR(AddTimes(clock_, with_.workers, &summary));
  return summary;
}

Trainer::SamplesOfStep Trainer::SamplesOf(uint64_t step) const {
  const uint64_t per_epoch = steps_per_epoch();
  const uint64_t of_data = step - options_.first_step_of_data;
  const uint64_t first = (of_data % per_epoch) * options_.mini_batch_size;
  const uint64_t global = std::min(options_.mini_batch_size, with_.data.train_samples() - first);
  const SampleSlice mine = SliceOf(global, with_.workers.size(), with_.workers.rank());
  return {.epoch = of_data / per_epoch,
          .global = global,
          .first = first + mine.first,
          .count = mine.count};
}

Status Trainer::ReadSamples(uint64_t step, Batch* batch) {
  const TimeNs start = with_.clock.NowNs();
  const SamplesOfStep samples = SamplesOf(step);
  const Status read = with_.data.ReadTrain(samples.epoch, samples.first, samples.count, batch);
  interval_.data_seconds += SecondsSince(start, with_.clock);
  return read;
}

Status Trainer::PullComputePush(uint64_t step, float learning_rate, StepFigures* figures) {
  ASSIGN_OR_RETURN(const Batch* const batch, lookahead_.Take(step));
  if (on_samples_) on_samples_(step, *batch);
  clock_.End(StepPhase::kData, batch->samples);

  // Errors name the samples of the batch by their place in the data.
  const SamplesOfStep samples = SamplesOf(step);
  const auto in_batch = [&](const Status& status) {
    return status.Annotate(
        fmt::format("step {} (epoch {}, samples from {})", step, samples.epoch, samples.first));
  };
  RETURN_IF_ERROR(in_batch(with_.step.Prepare(*batch, {.step = step, .sample = samples.first})));
  clock_.End(StepPhase::kMerge, with_.step.distinct_rows());
  RETURN_IF_ERROR(Pull(step));

  // After the pull, which must not wait for them; shards read while this worker computes.
  lookahead_.OnPulled(with_.client.has_pull_waited());
  uint64_t to_come = 0;
  while (const std::vector<RowBatch>* later = lookahead_.NextToPrefetch(&to_come)) {
    with_.client.Prefetch(to_come, *later);
  }
  RETURN_IF_ERROR(RunClient(with_.client, with_.dialer, with_.clock));
  clock_.End(StepPhase::kData);
  if (after_pull_) RETURN_IF_ERROR(after_pull_(step));
  clock_.End(StepPhase::kOther);

  if (with_.stop.load(std::memory_order_relaxed)) with_.step.AskToStop();
  const Result<StepFigures> computed = with_.step.ComputeRows(samples.global);
  RETURN_IF_ERROR(in_batch(computed.status()));
  *figures = computed.value();
  if (options_.progressive_every_steps > 0) {
    const std::span<const float> scores = with_.step.scores();
    progressive_.scores.insert(progressive_.scores.end(), scores.begin(), scores.end());
    progressive_.labels.insert(progressive_.labels.end(), batch->labels.begin(),
                               batch->labels.end());
  }
  clock_.End(StepPhase::kOther);
  // Rows that were pushed are lost with the run if the rest has failed.
  Status rest;
  const Status pushed = Push(step, learning_rate, samples.count, &rest);
  return rest.ok() ? pushed : in_batch(rest);
}

Status Trainer::Pull(uint64_t step) {
  const uint64_t rows = with_.step.distinct_rows();
  clock_.BeginMessages();
  with_.client.StartPull(step, /*eval=*/false, &with_.step.row_batches(),
                         &with_.step.bag_batches());
  RETURN_IF_ERROR(SendOutgoing(with_.client, with_.dialer, with_.clock, clock_.pull_phases()));
  clock_.End(StepPhase::kPull);
  with_.step.ComputeWithoutRows();
  RETURN_IF_ERROR(RunClient(with_.client, with_.dialer, with_.clock, clock_.pull_phases()));
  clock_.EndMessages();
  clock_.End(StepPhase::kPull, rows);
  return OkStatus();
}

Status Trainer::Push(uint64_t step, float learning_rate, uint64_t samples, Status* rest) {
  clock_.BeginMessages();
  with_.client.StartPush(step, learning_rate, samples, &with_.step.row_batches());
  RETURN_IF_ERROR(SendOutgoing(with_.client, with_.dialer, with_.clock, clock_.push_phases()));
  clock_.End(StepPhase::kPush);
  *rest = with_.step.ComputeRest();
  const Status pushed = RunClient(with_.client, with_.dialer, with_.clock, clock_.push_phases());
  clock_.EndMessages();
  clock_.End(StepPhase::kPush, with_.step.distinct_rows());
  return pushed;
}

Status Trainer::RunStep(uint64_t step, StepFigures* of_step) {
  clock_.BeginStep(step);
  const auto learning_rate = static_cast<float>(with_.lr_policy.Rate(step) * rate_factor_);
  StepFigures& figures = *of_step;
  const Status mine = PullComputePush(step, learning_rate, &figures);
  if (!CanBeAgreedOn(mine)) return mine;
  // All workers come to this allreduce: no shard makes one wait for the push of one that gave up.
  if (!mine.ok()) with_.step.GiveUp();
  const std::string phase = fmt::format("step {}, dense gradients", step);
  clock_.End(StepPhase::kOther);
  const Status summed = with_.workers.SumInRankOrder(with_.step.allreduce(), phase);
  clock_.EndAllreduce(step, with_.step.allreduce().size(), with_.workers.size() > 1);
  if (!summed.ok()) return mine.ok() ? summed : mine;
  if (with_.step.has_any_worker_given_up()) {
    return AgreeIfPossible(with_.workers, mine, phase, &is_failure_agreed_);
  }
  const Result<bool> applied = with_.step.ApplyDense(learning_rate, step);
  if (!applied.ok())
    return AgreeIfPossible(with_.workers, applied.status(), phase, &is_failure_agreed_);
  is_stop_agreed_ = applied.value();
  clock_.End(StepPhase::kDenseUpdate, with_.step.allreduce().size());

  interval_.figures.loss_sum += figures.loss_sum;
  interval_.figures.samples += figures.samples;
  interval_.figures.correct += figures.correct;
  ++interval_.steps;
  interval_.seconds += clock_.EndStep();
  return OkStatus();
}

Status Trainer::Report(uint64_t step, bool is_epoch_end) {
  ASSIGN_OR_RETURN(const std::vector<std::vector<std::byte>> all,
                   with_.workers.AllGather(std::as_bytes(std::span(&interval_.figures, 1)),
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
  with_.observer.OnProgress({.epoch = (of_data - 1) / per_epoch,
                             .step_of_epoch = is_epoch_end ? per_epoch : of_data % per_epoch,
                             .steps_per_epoch = per_epoch,
                             .step = step,
                             .loss = sum.loss_sum / samples,
                             .accuracy = static_cast<double>(sum.correct) / samples,
                             .samples = sum.samples,
                             .seconds = interval_.seconds,
                             .data_seconds = interval_.data_seconds,
                             .steps = interval_.steps,
                             .learning_rate = with_.lr_policy.Rate(step - 1) * rate_factor_});
  interval_ = {};
  return OkStatus();
}

Status Trainer::EndProgressiveWindow(uint64_t steps) {
  ASSIGN_OR_RETURN(const Evaluation evaluation,
                   evaluator_.OfAll(Scored::kProgressive, steps, progressive_));
  progressive_ = {};
  with_.observer.OnEvaluation(evaluation);
  return OkStatus();
}

Result<Evaluation> Trainer::Evaluate(Scored of, uint64_t steps) {
  clock_.phases().Suspend();  // It computes with the layers of the step.
  Result<Evaluation> evaluation = evaluator_.Evaluate(of, steps, &is_failure_agreed_);
  clock_.phases().Resume(Number(StepPhase::kBetween));
  return evaluation;
}

}  // namespace rowhouse
