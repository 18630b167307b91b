// Scorer: probabilities for batches of samples, from a model and a source of its rows. It needs
// neither MPI nor a run: evaluation during training and predictions from a saved model differ in
// the RowSource only. Threads: one.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "worker/data/batch.h"
#include "worker/embedding/row_source.h"
#include "worker/train/forward_pass.h"

namespace rowhouse {

class Scorer {
 public:
  // Both outlive the scorer. Scoring overwrites the batch of `forward`. If a training step has the
  // same `forward`, the step must be prepared again afterwards. `slice_samples`: the model computes
  // so many samples at a time, so that what it computes stays in the CPU's caches and batches of
  // any size use products of a few shapes; 0: all of the batch at once, as in training.
  Scorer(ForwardPass& forward, RowSource& rows, size_t slice_samples = 0)
      : forward_(forward), rows_(rows), slice_samples_(slice_samples) {}

  // A probability for each sample, good until the next call. Labels are not used, but have to be
  // finite. Errors: those of ForwardPass::Prepare and Predict, with `name` of the batch before
  // them; those of the source of rows as they are.
  Result<std::span<const float>> Score(const Batch& batch, const std::string& name);

 private:
  Result<std::span<const float>> PredictInSlices(size_t samples);

  ForwardPass& forward_;
  RowSource& rows_;
  const size_t slice_samples_;
  std::vector<float> scores_;  // of all slices
};

}  // namespace rowhouse
