// TrainingStep: what one worker computes in a step, without any I/O: ids to rows wanted, rows to
// loss and gradients, summed gradients to new dense parameters. The trainer and the simulation
// run the same one.
//
// A step: Prepare -> (rows are pulled into row_batches) -> Compute -> (row_batches are pushed,
// exchange() is summed over workers) -> ApplyDense.
// Threads: one caller; oneDNN inside uses the OpenMP threads the process was given.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "worker/data/batch.h"
#include "worker/dense/dense_optimizer.h"
#include "worker/embedding/worker_rows.h"
#include "worker/train/forward_pass.h"

namespace rowhouse {

// What a worker adds up between two progress lines, over its own samples.
struct StepFigures {
  double loss_sum = 0.0;
  uint64_t samples = 0;
  uint64_t correct = 0;  // round_half_even(p) == label
};

struct TrainingStepOptions {
  ModelSpec model;                          // Validate() is OK
  EmbeddingTables tables;                   // feature k of the data looks up tables.features[k]
  std::string optimizer = "sgd";            // of the dense part, a name of DenseOptimizers()
  DenseOptimizerOptions optimizer_options;  // the number of parameters is filled in
  std::vector<bool> pools_on_shards = {};   // of each physical table, as the plan says; none: no
  // Forward and backward go over a worker's samples in this many pieces, one after the other, so
  // that only the activations of one piece are in memory. Gradients are summed over them: the same
  // step to f32's rounding (gradient accumulation).
  uint32_t accumulation = 1;
};

class TrainingStep {
 public:
  // `rows`: of tables on the workers; null where the plan has none there.
  explicit TrainingStep(const TrainingStepOptions& options,
                        std::unique_ptr<WorkerRows> rows = nullptr);

  // Takes this worker's samples of a step (0 is a number too). kUsage if an id is out of range or a
  // dense feature or label is not a finite number, naming sample and place.
  Status Prepare(const Batch& batch);

  // The rows of the step, distinct and ascending; values to be filled before what follows, save
  // those of tables on the workers, which Prepare fills.
  std::vector<RowBatch>& row_batches() { return forward_.row_batches(); }
  // The bags of the step that shards pool; to be pulled and pushed with the rows.
  std::vector<BagBatch>& bag_batches() { return forward_.bag_batches(); }

  // Forward and backward for the loss divided by `global_samples`, the samples of all workers.
  // Fills the gradients of row_batches() and of exchange(). kInternal if the loss or a gradient is
  // not finite, naming it and the weight furthest from 0, with table and row or dense block; then
  // nothing may be pushed.
  Result<StepFigures> Compute(uint64_t global_samples);

  // To be summed over workers: the dense gradients, those of rows on the workers, and two numbers
  // more: whether this worker was asked to stop and whether it gave up (their sums tell all
  // workers, at the same step).
  std::span<float> exchange() { return exchange_; }
  void AskToStop() { is_stop_asked_ = true; }

  // Instead of Compute, or when it has failed: exchange() says so, and nothing else.
  void GiveUp();
  // Of the exchange() summed over all: some worker gave up, and nobody may apply it.
  bool has_anybody_given_up() const { return exchange_.back() > 0.0f; }

  // Runs the optimizers of the dense part and of rows on the workers on the exchange() of this
  // step, counted from 0, summed over all. True: some worker was asked to stop. kInternal if a
  // parameter, weight or float of optimizer state is not finite afterwards, naming it.
  Result<bool> ApplyDense(float learning_rate, uint64_t step);

  // What evaluation uses (scorer.h); it overwrites what Prepare took in.
  ForwardPass& forward() { return forward_; }
  DenseParameters& dense() { return forward_.dense(); }
  DlrmModel& model() { return forward_.model(); }
  DenseOptimizer& optimizer() { return *optimizer_; }
  const EmbeddingLayer& embedding() const { return forward_.embedding(); }
  // Null where no table is on the workers.
  WorkerRows* rows() { return rows_.get(); }

 private:
  StepFigures ComputePiece(SampleSlice samples, uint64_t global_samples);
  Status CheckDense(uint64_t step);
  std::string WhatIsNotFinite(double loss_sum);  // "": nothing

  const TrainingStepOptions options_;
  ForwardPass forward_;
  std::unique_ptr<DenseOptimizer> optimizer_;
  const std::unique_ptr<WorkerRows> rows_;

  std::vector<std::vector<float>> pooled_gradients_;  // of each feature: samples x its width
  std::vector<float> exchange_;
  std::vector<float> frozen_;  // values of frozen blocks, one after the other
  bool is_stop_asked_ = false;
};

}  // namespace rowhouse
