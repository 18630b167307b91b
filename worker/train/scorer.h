// Scorer: probabilities for batches of samples, from a model and a source of its rows. It needs
// neither MPI nor a run: evaluation during training and predictions from a saved model differ in
// the RowSource only. Threads: one.
#pragma once

#include <span>
#include <string>

#include "common/status.h"
#include "worker/data/batch.h"
#include "worker/embedding/row_source.h"
#include "worker/train/forward_pass.h"

namespace rowhouse {

class Scorer {
 public:
  // Both outlive the scorer. Scoring overwrites the batch of `forward`. If a training step has the
  // same `forward`, the step must be prepared again afterwards.
  Scorer(ForwardPass& forward, RowSource& rows) : forward_(forward), rows_(rows) {}

  // A probability for each sample, good until the next call. Labels are not used, but have to be
  // finite. Errors: those of ForwardPass::Prepare and Predict, with `name` of the batch before
  // them; those of the source of rows as they are.
  Result<std::span<const float>> Score(const Batch& batch, const std::string& name);

 private:
  ForwardPass& forward_;
  RowSource& rows_;
};

}  // namespace rowhouse
