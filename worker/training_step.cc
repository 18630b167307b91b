#include "worker/training_step.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>

namespace rowhouse {

TrainingStep::TrainingStep(const ModelSpec& model, const std::vector<TableSpec>& tables,
                           const std::string& optimizer, DenseOptimizerOptions optimizer_options)
    : spec_(model), embedding_(tables), model_(model, &dense_) {
  CHECK_EQ(tables.size(), model.features());
  dense_.Allocate();
  optimizer_options.parameters = dense_.size();
  optimizer_ = DenseOptimizers().Make(optimizer, optimizer_options).value();
  pooled_.resize(tables.size());
  exchange_.resize(dense_.size() + 1);
}

Status TrainingStep::Prepare(const Batch& batch) {
  batch_ = &batch;
  return embedding_.Prepare(batch.features);
}

std::span<const float> TrainingStep::Predict() {
  for (size_t k = 0; k < pooled_.size(); ++k) {
    pooled_[k].resize(batch_->samples * spec_.feature_widths[k]);
    embedding_.Forward(k, pooled_[k]);
  }
  return model_.Forward(batch_->dense, batch_->samples, pooled_);
}

StepFigures TrainingStep::Compute(uint64_t global_samples) {
  const std::span<const float> predictions = Predict();
  StepFigures figures;
  figures.samples = batch_->samples;
  figures.loss_sum = model_.LossSum(batch_->labels);
  for (size_t s = 0; s < batch_->samples; ++s) {
    // nearbyint rounds half to even, as numpy does: exactly 0.5 counts as class 0.
    figures.correct += std::nearbyint(predictions[s]) == batch_->labels[s] ? 1 : 0;
  }
  model_.Backward(batch_->labels, global_samples, &pooled_gradients_);
  for (size_t k = 0; k < pooled_.size(); ++k) embedding_.Backward(k, pooled_gradients_[k]);
  const std::span<const float> gradients = dense_.gradients();
  std::copy(gradients.begin(), gradients.end(), exchange_.begin());
  exchange_.back() = is_stop_asked_ ? 1.0f : 0.0f;
  return figures;
}

bool TrainingStep::ApplyDense(float learning_rate) {
  const std::span<float> summed(exchange_);
  optimizer_->Apply(learning_rate, summed.first(summed.size() - 1), dense_.values());
  return exchange_.back() > 0.0f;
}

}  // namespace rowhouse
