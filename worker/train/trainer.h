// Trainer: the training loop of one worker, and evaluation between steps.
//
// Steps are counted from 0 over all runs of a model, epochs from 0 over the runs on the same data.
// With d = s - first_step_of_data, step s is step d mod N of epoch d / N, where N is
// steps_per_epoch(). Step t of an epoch takes samples [tB, tB + B) of the epoch's order, B of
// all workers together; worker w takes its range of them by numpy's array_split rule, so that only
// the ranges depend on the number of workers. See docs/step.md.
//
// Time is that of the Clock, so that simulated training repeats. Threads: one.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

#include "common/clock.h"
#include "common/status.h"
#include "worker/client/ps_client.h"
#include "worker/data/dataset.h"
#include "worker/dense/lr_policy.h"
#include "worker/mpi/communicator.h"
#include "worker/train/evaluator.h"
#include "worker/train/lookahead.h"
#include "worker/train/step_clock.h"
#include "worker/train/training_step.h"

namespace rowhouse {

struct TrainerOptions {
  uint64_t mini_batch_size = 1;       // samples of a step, over all workers
  uint64_t test_mini_batch_size = 1;  // likewise
  uint64_t epochs = 1;                // of these data, over all runs on them
  uint64_t max_steps_per_epoch = 0;   // 0: all of the data
  uint64_t print_every_steps = 1;     // 0: never
  // 0: Train makes no evaluation. It scores the samples for validation, or, if there are none,
  // those for tests.
  uint64_t test_every_steps = 0;
  // Steps of a window of progressive validation: the samples of its steps, each scored before it
  // was trained on, have an evaluation. 0: none.
  uint64_t progressive_every_steps = 0;
  uint64_t first_step = 0;          // steps done by earlier runs
  uint64_t first_step_of_data = 0;  // that takes the first sample of epoch 0; at most first_step
  uint64_t stop_after_steps = 0;    // of this run; 0: train to the end
  uint32_t prefetch_steps = 0;  // rows are prefetched at most this many steps ahead (lookahead.h)
};

// kUsage if nothing says where an epoch of these data ends: the source does not know how many
// samples it has, and the option num_batches is not given.
Status CheckSize(const Dataset& data, const TrainerOptions& options);

// Steps of an epoch; the last may have fewer samples. Requires CheckSize to be OK.
uint64_t StepsPerEpoch(const Dataset& data, const TrainerOptions& options);

// Number of steps after the last epoch, over all runs. Requires as StepsPerEpoch.
uint64_t LastStep(const Dataset& data, const TrainerOptions& options);

// The sample that is read next.
struct PlaceInData {
  uint64_t epoch = 0;
  uint64_t sample = 0;  // of the epoch's order
};
// After this many steps over all runs. Requires as StepsPerEpoch.
PlaceInData PlaceAfter(uint64_t steps, const Dataset& data, const TrainerOptions& options);

// Means over all workers since the last report.
struct TrainingProgress {
  uint64_t epoch = 0;          // from 0
  uint64_t step_of_epoch = 0;  // steps done in this epoch, 1 .. steps_per_epoch
  uint64_t steps_per_epoch = 0;
  uint64_t step = 0;  // steps done over all runs
  double loss = 0.0;  // sample-weighted mean
  double accuracy = 0.0;
  uint64_t samples = 0;
  double seconds = 0.0;       // of these steps on this worker
  double data_seconds = 0.0;  // of `seconds`: reading samples
  uint64_t steps = 0;
  double learning_rate = 0.0;  // of the last of these steps
};

// A step that is done: what this worker knows of it without asking the others.
struct StepDone {
  uint64_t steps_done = 0;    // over all runs
  uint64_t last_step = 0;     // steps_done after the last epoch
  uint64_t samples = 0;       // of the step, over all workers
  double loss_sum = 0.0;      // over this worker's samples
  uint64_t loss_samples = 0;  // number of this worker's samples
};

// Called on every worker, between steps. OnProgress and OnEvaluation have the same arguments on all
// workers, but for times.
class TrainerObserver {
 public:
  virtual ~TrainerObserver() = default;
  virtual void OnStep(const StepDone&) {}
  virtual void OnProgress(const TrainingProgress& progress) = 0;
  virtual void OnEvaluation(const Evaluation& evaluation) = 0;
};

// A run from its first step to its last.
struct TrainingSummary {
  uint64_t steps_done = 0;           // over all runs; a model saved now goes on at this step
  uint64_t samples = 0;              // of this run, over all workers
  double seconds = 0.0;              // of this run's steps, without evaluations
  double median_step_seconds = 0.0;  // of this worker's steps, or an even part of very many
  StepPhases phases;                 // of `seconds`, on this worker
  StepsOfAll of_all;                 // the same of every worker; bytes of these steps by shard
  uint64_t wire_bytes = 0;           // the sum of these bytes
  bool was_stopped = false;          // before the last step, by stop_after_steps or `stop`
  bool was_told_to_stop = false;     // by `stop`, of this or of another worker
  bool ended_early = false;          // before the last step, by after_validation
};

// What a trainer works with. All of it outlives the trainer.
struct TrainerParts {
  const LrPolicy& lr_policy;
  Dataset& data;
  TrainingStep& step;
  PsClient& client;
  Dialer& dialer;
  Communicator& workers;
  const Clock& clock;
  TrainerObserver& observer;
  // May be set by a signal handler at any time: the run ends after the step under way.
  const std::atomic<bool>& stop;
};

class Trainer {
 public:
  Trainer(const TrainerOptions& options, const TrainerParts& parts);

  uint64_t steps_per_epoch() const;
  // Number of steps after the last epoch of these data, over all runs of the model.
  uint64_t last_step() const;

  // `after_step` is called on every worker after each step but the last of the run, and after what
  // Train itself does then; an error ends the training. *is_agreed: all workers return it.
  using AfterStep = std::function<Status(uint64_t steps_done, bool* is_agreed)>;
  void set_after_step(AfterStep after_step) { after_step_ = std::move(after_step); }

  // `after_pull` is called on every worker when the rows of a step are there, before it computes.
  using AfterPull = std::function<Status(uint64_t step)>;
  void set_after_pull(AfterPull after_pull) { after_pull_ = std::move(after_pull); }

  // `on_samples` is told of this worker's samples of each step, before rows are asked for.
  using OnSamples = std::function<void(uint64_t step, const Batch& samples)>;
  void set_on_samples(OnSamples on_samples) { on_samples_ = std::move(on_samples); }

  // Collective. A failure of model or data (kUsage, kInternal) is returned by all workers, with the
  // same message. A lost peer or a failing machine is an error of the worker that notices it; the
  // others have errors of their own (kDeadlineExceeded) when they have waited for it. What becomes
  // of the step then: docs/step.md.
  Result<TrainingSummary> Train();

  // `after_validation` is called on every worker with each validation, which all have alike, and
  // says whether training ends with this step. Where it would have said so before the first step,
  // `is_over`, there is none.
  using AfterValidation = std::function<bool(const Evaluation& evaluation)>;
  void set_after_validation(AfterValidation after_validation, bool is_over) {
    after_validation_ = std::move(after_validation);
    is_over_ = is_over;
  }

  // Of later steps: their rate is that of lr_policy times this.
  void set_rate_factor(double factor) { rate_factor_ = factor; }

  // Collective: scores the samples for tests. All workers return the same. `steps`: done so far.
  Result<Evaluation> Evaluate(uint64_t steps) { return Evaluate(Scored::kTest, steps); }

  // Of training so far: steps over all runs; of this run samples over all workers, and seconds.
  uint64_t steps_done() const { return steps_done_; }
  uint64_t samples_done() const { return samples_; }
  double training_seconds() const { return clock_.seconds(); }
  // Time of all evaluations so far.
  double evaluation_seconds() const { return evaluator_.seconds(); }

  // Divides time more finely from now on, and keeps spans: each layer and feature, and what a pull
  // and a push consist of. Costs some hundred nanoseconds for each. Before Train.
  void KeepSpans();
  const StepClock& step_clock() const { return clock_; }
  // Memory of samples that were read.
  size_t sample_bytes() const { return lookahead_.bytes() + evaluator_.sample_bytes(); }
  // After a failure of Train or Evaluate: whether all workers return it, so that no worker waits.
  bool is_failure_agreed() const { return is_failure_agreed_; }

 private:
  Status RunStep(uint64_t step, StepFigures* figures);
  // This worker's samples of a step: [first, first + count) of the epoch's order. `global`: number
  // of samples of the step over all workers.
  struct SamplesOfStep {
    uint64_t epoch = 0, global = 0, first = 0, count = 0;
  };
  SamplesOfStep SamplesOf(uint64_t step) const;
  Status ReadSamples(uint64_t step, Batch* batch);
  // A step up to the allreduce.
  Status PullComputePush(uint64_t step, float learning_rate, StepFigures* figures);
  // Each computes what it can while messages are on their way. *rest: what became of that.
  Status Pull(uint64_t step);
  Status Push(uint64_t step, float learning_rate, uint64_t samples, Status* rest);
  Status Report(uint64_t step, bool is_epoch_end);
  Result<Evaluation> Evaluate(Scored of, uint64_t steps);
  Status EndProgressiveWindow(uint64_t steps);

  const TrainerOptions options_;
  const TrainerParts with_;

  AfterStep after_step_;  // null: nothing
  AfterPull after_pull_;  // likewise
  OnSamples on_samples_;  // likewise
  AfterValidation after_validation_;
  bool is_over_ = false;  // by after_validation_
  double rate_factor_ = 1.0;
  Lookahead lookahead_;
  Evaluator evaluator_;
  StepClock clock_;
  // This worker's steps since the last report.
  struct Interval {
    StepFigures figures;
    uint64_t steps = 0;
    double seconds = 0.0, data_seconds = 0.0;
  };
  Interval interval_;
  Evaluator::Scores progressive_;  // of this worker's samples of the window
  bool is_stop_agreed_ = false;
  bool is_failure_agreed_ = false;
  uint64_t steps_done_ = 0, samples_ = 0;
};

}  // namespace rowhouse
