// Trainer: the training loop of one worker, and evaluation between steps.
//
// Steps are counted from 0 over all runs of a model; step s of the model is step s mod N of epoch
// s / N, N = steps_per_epoch(). Step t takes samples [tB, tB + B) of the epoch's order; worker w
// takes its slice by numpy's array_split rule, so nothing but the slices depends on the number of
// workers. See docs/step.md.
// Threads: one.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "worker/client/ps_client.h"
#include "worker/data/dataset.h"
#include "worker/dense/lr_policy.h"
#include "worker/mpi/communicator.h"
#include "worker/train/lookahead.h"
#include "worker/train/metrics.h"
#include "worker/train/training_step.h"

namespace rowhouse {

struct TrainerOptions {
  uint64_t mini_batch_size = 1;       // samples of a step, global
  uint64_t test_mini_batch_size = 1;  // global
  uint64_t epochs = 1;
  uint64_t max_steps_per_epoch = 0;  // 0: all of the data
  uint64_t print_every_steps = 1;    // 0: never
  uint64_t test_every_steps = 0;     // 0: only at the end
  uint64_t first_step = 0;           // steps done by earlier runs
  uint64_t stop_after_steps = 0;     // of this run; 0: train to the end
  uint32_t prefetch_steps = 0;  // most steps whose rows shards are told of ahead; see Lookahead
};

// kUsage if a run cannot be planned on these data: they do not know how many samples they have, and
// nothing else ends the epoch (num_batches).
Status CheckSize(const Dataset& data, const TrainerOptions& options);

// Steps of an epoch; the last may have fewer samples. Requires CheckSize to be OK.
uint64_t StepsPerEpoch(const Dataset& data, const TrainerOptions& options);

// The sample that is read next.
struct PlaceInData {
  uint64_t epoch = 0;
  uint64_t sample = 0;  // of the epoch's order
};
// After so many steps over all runs. Requires as StepsPerEpoch.
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
  double seconds = 0.0;       // wall clock of these steps on this worker
  double data_seconds = 0.0;  // of them reading samples
  uint64_t steps = 0;
  double learning_rate = 0.0;  // of the last of them
};

struct Evaluation {
  uint64_t step = 0;  // steps done when it was made
  uint64_t samples = 0;
  Metrics metrics;
  // If all predictions are the same number, that number: the model tells no sample from another.
  std::optional<float> only_prediction = std::nullopt;
  // Of labels and dense features of all test samples, whatever the number of workers: runs of
  // different digests were not tested on the same samples.
  uint64_t data_digest = 0;
};

// Where the time of a worker's steps went, in seconds.
struct StepPhases {
  double data = 0.0;      // reading samples and telling shards of the rows of steps to come
  double pull = 0.0;      // rows asked for until they are there
  double compute = 0.0;   // merging ids, forward, backward, dense update
  double push = 0.0;      // until shards have the gradients
  double exchange = 0.0;  // summing dense gradients, and waiting for the slowest worker
};

// What this worker knows of a step it has done, without asking the others.
struct StepDone {
  uint64_t steps_done = 0;    // over all runs
  uint64_t last_step = 0;     // what steps_done will be at the end
  uint64_t samples = 0;       // of all workers
  double loss_sum = 0.0;      // over this worker's samples
  uint64_t loss_samples = 0;  // how many they are
};

// Called on every worker, between steps; but for OnStep with the same numbers.
class TrainerObserver {
 public:
  virtual ~TrainerObserver() = default;
  virtual void OnStep(const StepDone&) {}
  virtual void OnProgress(const TrainingProgress& progress) = 0;
  virtual void OnEvaluation(const Evaluation& evaluation) = 0;
};

// What a run did, besides what observers saw.
struct TrainingSummary {
  uint64_t steps_done = 0;           // over all runs: the step a saved model goes on from
  uint64_t samples = 0;              // of this run, over all workers
  double seconds = 0.0;              // of this run's steps, without evaluations
  double median_step_seconds = 0.0;  // of this worker's; the mean of the middle two of an even many
  uint64_t wire_bytes = 0;           // of frames to and from shards in these steps, all workers'
  StepPhases phases;                 // of `seconds`, this worker's
  bool was_stopped = false;          // by stop_after_steps or a signal, before the last epoch's end
  bool was_told_to_stop = false;     // by a signal
};

class Trainer {
 public:
  // All outlive the trainer. `stop` may be set by a signal handler at any time.
  Trainer(const TrainerOptions& options, const LrPolicy& lr_policy, Dataset& data,
          TrainingStep& step, PsClient& client, Dialer& dialer, Communicator& workers,
          const Clock& clock, TrainerObserver& observer, const std::atomic<bool>& stop);

  uint64_t steps_per_epoch() const;
  // Of all epochs, over all runs.
  uint64_t last_step() const { return options_.epochs * steps_per_epoch(); }

  // What is wrong with the model or the data (kUsage, kInternal) fails on all workers alike, with
  // one message; the loss of a peer or a machine's trouble where it was noticed.
  Result<TrainingSummary> Train();

  // Scores the test samples on all workers; the result is the same on each. `steps`: done so far.
  Result<Evaluation> Evaluate(uint64_t steps);

  // Of all evaluations so far.
  double evaluation_seconds() const { return evaluation_seconds_; }

  // Of a failure of Train or Evaluate: whether all workers return it, so that nobody waits.
  bool is_failure_agreed() const { return is_failure_agreed_; }

 private:
  Status RunStep(uint64_t step, StepFigures* figures);
  // This worker's samples of a step: [first, first + count) of the epoch's order, of `global`.
  struct SamplesOfStep {
    uint64_t epoch = 0, global = 0, first = 0, count = 0;
  };
  SamplesOfStep SamplesOf(uint64_t step) const;
  Status ReadSamples(uint64_t step, Batch* batch);
  // A step up to the exchange, of this worker's samples of it.
  Status PullComputePush(uint64_t step, float learning_rate, StepFigures* figures);
  Status ScoreTestSamples(uint64_t steps, std::vector<float>* scores, std::vector<float>* labels,
                          uint64_t* data_digest);
  Result<Evaluation> ScoreAndGather(uint64_t steps);
  // The same on every worker: of all workers' numbers, mod 2^64.
  Result<uint64_t> SumOverAll(uint64_t mine, const std::string& phase) const;
  // Every worker calls it at the same place, but those whose failure cannot be agreed on.
  Status AgreeOn(const Status& mine, const std::string& phase);
  Status Report(uint64_t step, bool is_last_of_interval);

  const TrainerOptions options_;
  const LrPolicy& lr_policy_;
  Dataset& data_;
  TrainingStep& step_;
  PsClient& client_;
  Dialer& dialer_;
  Communicator& workers_;
  const Clock& clock_;
  TrainerObserver& observer_;
  const std::atomic<bool>& stop_;

  Lookahead lookahead_;
  Batch batch_;  // of test samples
  bool is_stop_agreed_ = false;
  bool is_failure_agreed_ = false;
  StepFigures interval_;  // this worker's, since the last report
  uint64_t interval_steps_ = 0;
  double interval_seconds_ = 0.0, interval_data_seconds_ = 0.0;
  std::vector<float> step_seconds_;
  StepPhases phases_;
  double evaluation_seconds_ = 0.0;
  double seconds_ = 0.0;
  uint64_t wire_bytes_ = 0;
};

}  // namespace rowhouse
