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
#include "worker/batch.h"
#include "worker/dense_optimizer.h"
#include "worker/dense_parameters.h"
#include "worker/dlrm_model.h"
#include "worker/embedding.h"

namespace rowhouse {

// What a worker adds up between two progress lines, over its own samples.
struct StepFigures {
  double loss_sum = 0.0;
  uint64_t samples = 0;
  uint64_t correct = 0;  // round_half_even(p) == label
};

class TrainingStep {
 public:
  // Feature k of the data looks up tables[k]. Requires model.Validate() to be OK.
  // `optimizer` is a name of DenseOptimizers(); the number of parameters in its options is filled
  // in here.
  TrainingStep(const ModelSpec& model, const std::vector<TableSpec>& tables,
               const std::string& optimizer, DenseOptimizerOptions optimizer_options);

  // Takes this worker's samples of a step (0 is a number too). kUsage if an id is out of range.
  Status Prepare(const Batch& batch);

  // The rows of the step, distinct and ascending; values to be filled before Compute.
  std::vector<RowBatch>& row_batches() { return embedding_.row_batches(); }

  // Forward only: a probability a sample, good until the next call.
  std::span<const float> Predict();

  // Forward and backward for the loss divided by `global_samples`, the samples of all workers.
  // Fills the gradients of row_batches() and of exchange().
  StepFigures Compute(uint64_t global_samples);

  // The dense gradients, to be summed over workers, and one number more: whether this worker was
  // asked to stop (its sum tells all workers, at the same step).
  std::span<float> exchange() { return exchange_; }
  void AskToStop() { is_stop_asked_ = true; }

  // Runs the dense optimizer on the summed exchange(). True: some worker was asked to stop.
  bool ApplyDense(float learning_rate);

  DenseParameters& dense() { return dense_; }
  DlrmModel& model() { return model_; }
  DenseOptimizer& optimizer() { return *optimizer_; }

 private:
  ModelSpec spec_;
  DenseParameters dense_;
  EmbeddingLayer embedding_;
  DlrmModel model_;
  std::unique_ptr<DenseOptimizer> optimizer_;

  const Batch* batch_ = nullptr;
  std::vector<std::vector<float>> pooled_;  // a feature: samples x its width
  std::vector<std::vector<float>> pooled_gradients_;
  std::vector<float> exchange_;
  bool is_stop_asked_ = false;
};

}  // namespace rowhouse
