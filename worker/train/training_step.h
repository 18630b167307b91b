// TrainingStep: what one worker computes in a step, without I/O: from samples to the rows they
// need, from rows to the loss and the gradients, from gradients summed over workers to new dense
// parameters.
//
// A step: Prepare -> the caller pulls row_batches(), and meanwhile calls ComputeWithoutRows ->
// ComputeRows -> the caller pushes row_batches(), and meanwhile calls ComputeRest -> the caller
// sums allreduce() over workers -> ApplyDense. Threads: one caller; oneDNN uses the OpenMP threads
// that the process was given.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "worker/data/batch.h"
#include "worker/dense/dense_optimizer.h"
#include "worker/embedding/worker_rows.h"
#include "worker/train/forward_pass.h"
#include "worker/train/step_clock.h"

namespace rowhouse {

// Sums over some samples.
struct StepFigures {
  double loss_sum = 0.0;
  uint64_t samples = 0;
  uint64_t correct = 0;  // samples with RoundHalfEven(prediction) == label
};

struct TrainingStepOptions {
  ModelSpec model;                          // Validate() is OK
  EmbeddingTables tables;                   // feature k of the data looks up tables.features[k]
  std::string optimizer = "sgd";            // of the dense part, a name of DenseOptimizers()
  DenseOptimizerOptions optimizer_options;  // all but its number of parameters
  std::vector<bool> pools_on_shards = {};   // of each physical table, as in the plan; empty: none
  // Gradient accumulation: forward and backward pass go over a worker's samples in this many
  // pieces, one after the other, so that only the activations of one piece are in memory. The sum
  // of the pieces' gradients is that of one piece but for the rounding of f32.
  uint32_t accumulation = 1;
  uint64_t seed = 0;  // of the units that are dropped (worker/dense/dropout.h)
  // L2 of rows in the scale of the loss: each lookup of a row adds lookup_l2 / 2 * |row|^2 to its
  // sample's loss, and so lookup_l2 * row / global_samples to the row's gradient; frozen tables
  // apart. StepFigures have the loss without it. Requires a plan that pools no bags on shards.
  double lookup_l2 = 0.0;
};

// Where the samples of a batch stand: random choices depend on it, and on no rank.
struct PlaceOfBatch {
  uint64_t step = 0;    // over all runs of the model
  uint64_t sample = 0;  // number of the batch's first sample in the order of its epoch
};

class TrainingStep {
 public:
  // `rows`: the rows on the workers; null if the plan has none there.
  explicit TrainingStep(const TrainingStepOptions& options,
                        std::unique_ptr<WorkerRows> rows = nullptr);

  // Takes this worker's samples of a step, 0 or more. kUsage, naming sample and place, if an id is
  // out of range or a dense feature or label is not finite.
  Status Prepare(const Batch& batch, const PlaceOfBatch& place = {});

  // The distinct rows of the step, ascending within a table. The caller fills their values before
  // ComputeRows; Prepare fills those of rows on the workers.
  std::vector<RowBatch>& row_batches() { return forward_.row_batches(); }
  // The bags of the step that shards pool. The caller pulls and pushes them with the rows.
  std::vector<BagBatch>& bag_batches() { return forward_.bag_batches(); }

  // Forward and backward pass, in three parts. Gradients are those of the loss divided by
  // `global_samples`, the number of samples of all workers. kInternal if the loss or a gradient is
  // not finite, naming it and the weight furthest from 0.
  // What needs no rows; may be left out.
  void ComputeWithoutRows();
  // All but the bottom MLP's backward pass: afterwards gradients are in row_batches() and
  // bag_batches(), and may be pushed. On an error nothing may be pushed.
  Result<StepFigures> ComputeRows(uint64_t global_samples);
  // After ComputeRows: then gradients are in allreduce(). On an error rows may have been pushed;
  // nothing of the step may be saved.
  Status ComputeRest();

  // The predictions that ComputeRows made of the batch's samples, in order. With dropout they are
  // those of the thinned networks.
  std::span<const float> scores() const { return scores_; }

  // The buffer of the ordered allreduce: dense gradients, gradients of rows on the workers, and two
  // numbers that are 1 if this worker was asked to stop, and if it gave up. The sums of those tell
  // all workers at the same step.
  std::span<float> allreduce() { return allreduce_; }
  void AskToStop() { is_stop_asked_ = true; }

  // How batch normalisation sums over workers while a step computes; without it, there is one
  // worker. An error of `sum` is one of the step's.
  using SumOfWorkers = std::function<Status(std::span<float> values)>;
  void SumOverWorkersBy(SumOfWorkers sum);

  // Instead of computing, or after it has failed: allreduce() says that this worker gave up, and
  // has no gradients. Takes part in the sums that other workers still wait for.
  void GiveUp();
  // After allreduce() was summed over workers: some worker gave up, and no worker may apply the
  // sum.
  bool has_any_worker_given_up() const { return allreduce_.back() > 0.0f; }

  // Updates the dense part and the rows on the workers. Requires that allreduce() was summed over
  // workers. `step` counts from 0. True if some worker was asked to stop. kInternal if a parameter,
  // weight or float of optimizer state is not finite afterwards, naming it.
  Result<bool> ApplyDense(float learning_rate, uint64_t step);

  // Ends the phases of a step's computing in `log`, which begins with StepPhaseKinds and outlives
  // the step; null: nowhere. If the log keeps spans, adds a kind for each layer and feature.
  void CountPhasesIn(PhaseLog* log);

  // Memory of what forward and backward pass keep of a piece.
  size_t activation_bytes() const;

  // Of the batch: rows to pull, and rows of bags that shards pool.
  uint64_t distinct_rows() const;

  // For evaluation (Scorer), which replaces the samples of Prepare.
  ForwardPass& forward() { return forward_; }
  DenseParameters& dense() { return forward_.dense(); }
  DlrmModel& model() { return forward_.model(); }
  DenseOptimizer& optimizer() { return *optimizer_; }
  const EmbeddingLayer& embedding() const { return forward_.embedding(); }
  // Null if the constructor was given none.
  WorkerRows* rows() { return rows_.get(); }

 private:
  void SumOverWorkers(std::span<float> values);
  SampleSlice Piece(uint32_t index) const;  // of the batch's samples
  StepFigures ComputePiece(SampleSlice samples, uint64_t global_samples);
  void BackwardBottom(uint32_t piece);
  Status CheckDense(uint64_t step);
  // "": nothing.
  std::string WhatOfTheRowsIsNotFinite(double loss_sum);
  std::string WhatOfTheDensePartIsNotFinite();
  void End(StepPhase phase, uint64_t amount = 0) {
    if (phases_ != nullptr) phases_->End(Number(phase), amount);
  }

  const TrainingStepOptions options_;
  ForwardPass forward_;
  std::unique_ptr<DenseOptimizer> optimizer_;
  const std::unique_ptr<WorkerRows> rows_;

  std::vector<std::vector<float>> pooled_gradients_;  // of each feature: samples x its width
  std::vector<float> scores_;
  std::vector<float> allreduce_;
  std::vector<float> frozen_;  // values of frozen blocks, one after the other
  bool is_stop_asked_ = false;
  SumOfWorkers sum_over_workers_;
  std::vector<size_t> sums_of_a_step_;  // floats of each
  size_t sums_done_ = 0;                // of the step under way
  Status summed_;                       // of those
  PhaseLog* phases_ = nullptr;
  std::vector<PhaseLog::Phase> pool_backward_;  // of each feature, if spans are kept
};

}  // namespace rowhouse
