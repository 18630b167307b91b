#include "worker/train/training_step.h"

#include <fmt/core.h>
#include <glog/logging.h>

#include <algorithm>
#include <cmath>

#include "common/kernels/finite.h"

namespace rowhouse {
namespace {

SampleSlice Piece(const SampleSlice& samples, uint32_t pieces, uint32_t index) {
  const SampleSlice piece = SliceOf(samples.count, pieces, WorkerRank{index});
  return {samples.first + piece.first, piece.count};
}

// At the end of the exchange: asked to stop, gave up.
constexpr size_t kFlags = 2;

// The weight that is not a number, or else the one furthest from 0, and whose it is.
class Furthest {
 public:
  // `name_of(i)` says whose values[i] is.
  template <typename NameOf>
  void Look(std::span<const float> values, const NameOf& name_of) {
    for (size_t i = 0; i < values.size(); ++i) {
      const float distance = std::isnan(values[i]) ? HUGE_VALF : std::abs(values[i]);
      if (distance <= distance_) continue;
      distance_ = distance;
      text_ = fmt::format("{}, of {}", ForPeople(values[i]), name_of(i));
    }
  }
  const std::string& text() const { return text_; }

 private:
  float distance_ = -1.0f;
  std::string text_;
};

}  // namespace

TrainingStep::TrainingStep(const TrainingStepOptions& options, std::unique_ptr<WorkerRows> rows)
    : options_(options),
      model_(options.model, &dense_),
      embedding_(options.tables, &dense_, options.pools_on_shards),
      rows_(std::move(rows)) {
  CHECK_EQ(embedding_.features(), options_.model.features());
  CHECK_GE(options_.accumulation, 1u);
  dense_.Allocate();
  DenseOptimizerOptions optimizer_options = options_.optimizer_options;
  optimizer_options.parameters = dense_.size();
  optimizer_ = DenseOptimizers().Make(options_.optimizer, optimizer_options).value();
  pooled_.resize(embedding_.features());
  pooled_gradients_.resize(embedding_.features());
  exchange_.resize(dense_.size() + (rows_ ? rows_->allreduce_floats() : 0) + kFlags);
}

Status TrainingStep::Prepare(const Batch& batch) {
  if (const auto bad = FirstNotFinite(batch.dense)) {
    return UsageError(
        "sample {} of the batch: dense feature {} is {}; a model learns nothing from it",
        *bad / batch.dense_features, *bad % batch.dense_features, ForPeople(batch.dense[*bad]));
  }
  if (const auto bad = FirstNotFinite(batch.labels)) {
    return UsageError("sample {} of the batch: its label is {}", *bad,
                      ForPeople(batch.labels[*bad]));
  }
  batch_ = &batch;
  RETURN_IF_ERROR(embedding_.Prepare(batch.features));
  if (rows_) rows_->Fill(&embedding_.row_batches());
  return OkStatus();
}

std::span<const float> TrainingStep::Forward(SampleSlice samples) {
  for (size_t k = 0; k < pooled_.size(); ++k) {
    pooled_[k].resize(samples.count * embedding_.out_width(k));
    embedding_.Forward(k, samples, pooled_[k]);
  }
  const size_t width = batch_->dense_features;
  return model_.Forward(
      std::span(batch_->dense).subspan(samples.first * width, samples.count * width), samples.count,
      pooled_);
}

Result<std::span<const float>> TrainingStep::Predict() {
  embedding_.RowsArrived();
  const std::span<const float> predictions = Forward({0, batch_->samples});
  if (const auto bad = FirstNotFinite(predictions)) {
    return Diverged(fmt::format("sample {} of the batch: the prediction is {}", *bad,
                                ForPeople(predictions[*bad])));
  }
  return predictions;
}

StepFigures TrainingStep::ComputePiece(SampleSlice samples, uint64_t global_samples) {
  const std::span<const float> predictions = Forward(samples);
  const std::span<const float> labels =
      std::span(batch_->labels).subspan(samples.first, samples.count);
  StepFigures figures;
  figures.samples = samples.count;
  figures.loss_sum = model_.LossSum(labels);
  for (size_t s = 0; s < samples.count; ++s) {
    // nearbyint rounds half to even, as numpy does: exactly 0.5 counts as class 0.
    figures.correct += std::nearbyint(predictions[s]) == labels[s] ? 1 : 0;
  }
  model_.Backward(labels, global_samples, &pooled_gradients_);
  for (size_t k = 0; k < pooled_.size(); ++k) {
    embedding_.Backward(k, samples, pooled_gradients_[k]);
  }
  return figures;
}

Result<StepFigures> TrainingStep::Compute(uint64_t global_samples) {
  embedding_.RowsArrived();
  StepFigures sum;
  for (uint32_t piece = 0; piece < options_.accumulation; ++piece) {
    const StepFigures figures =
        ComputePiece(Piece({0, batch_->samples}, options_.accumulation, piece), global_samples);
    sum.loss_sum += figures.loss_sum;
    sum.samples += figures.samples;
    sum.correct += figures.correct;
    const std::span<const float> gradients = dense_.gradients();
    if (piece == 0) {
      std::copy(gradients.begin(), gradients.end(), exchange_.begin());
    } else {
      for (size_t i = 0; i < gradients.size(); ++i) exchange_[i] += gradients[i];
    }
  }
  if (rows_) {
    rows_->WriteGradients(embedding_.row_batches(),
                          std::span(exchange_).subspan(dense_.size(), rows_->allreduce_floats()));
  }
  exchange_[exchange_.size() - kFlags] = is_stop_asked_ ? 1.0f : 0.0f;
  exchange_.back() = 0.0f;
  if (const std::string bad = WhatIsNotFinite(sum.loss_sum); !bad.empty()) return Diverged(bad);
  return sum;
}

void TrainingStep::GiveUp() {
  std::fill(exchange_.begin(), exchange_.end(), 0.0f);
  exchange_.back() = 1.0f;
}

// The gradient of one row is bad because of another's weight as a rule: the likely cause is named
// too, which is the weight furthest from 0.
Status TrainingStep::Diverged(const std::string& what) {
  Furthest furthest;
  for (const RowBatch& batch : embedding_.row_batches()) {
    furthest.Look(batch.values, [&](size_t i) { return RowName(batch, i); });
  }
  for (const DenseParameters::Block& block : dense_.blocks()) {
    furthest.Look(dense_.values().subspan(block.offset, block.size()),
                  [&](size_t) { return fmt::format("dense parameters \"{}\"", block.name); });
  }
  return MakeStatus(StatusCode::kInternal,
                    "{}; the weight furthest from 0 is {}: lower learning_rate", what,
                    furthest.text());
}

std::string TrainingStep::WhatIsNotFinite(double loss_sum) const {
  if (!std::isfinite(loss_sum)) return fmt::format("the loss is {}", ForPeople(loss_sum));
  for (const RowBatch& batch : embedding_.row_batches()) {
    if (const auto bad = FirstNotFinite(batch.gradients)) {
      return fmt::format("the gradient of {} is {}", RowName(batch, *bad),
                         ForPeople(batch.gradients[*bad]));
    }
  }
  for (const BagBatch& batch : embedding_.bag_batches()) {
    if (const auto bad = FirstNotFinite(batch.gradients)) {
      return fmt::format("the gradient of sample {}'s bag of table \"{}\" is {}", *bad / batch.dim,
                         embedding_.tables().physical[Raw(batch.table)].name,
                         batch.gradients[*bad]);
    }
  }
  for (const DenseParameters::Block& block : dense_.blocks()) {
    const std::span<const float> gradients =
        std::span(exchange_).subspan(block.offset, block.size());
    if (const auto bad = FirstNotFinite(gradients)) {
      return fmt::format("the gradient of dense parameters \"{}\" is {} at {}", block.name,
                         ForPeople(gradients[*bad]), *bad);
    }
  }
  return "";
}

std::string TrainingStep::RowName(const RowBatch& batch, size_t index) const {
  return fmt::format("table \"{}\", row {}, column {}",
                     embedding_.tables().physical[Raw(batch.table)].name,
                     Raw(batch.rows[index / batch.dim]), index % batch.dim);
}

// Replicas are the same to the bit, so every worker finds the same.
Status TrainingStep::CheckDense(uint64_t step) {
  for (const DenseParameters::Block& block : dense_.blocks()) {
    const std::span<const float> values = dense_.values().subspan(block.offset, block.size());
    if (const auto bad = FirstNotFinite(values)) {
      return MakeStatus(StatusCode::kInternal,
                        "dense parameters \"{}\" hold {} at {} after step {}: lower learning_rate",
                        block.name, ForPeople(values[*bad]), *bad, step);
    }
  }
  const std::span<const float> state = optimizer_->state();
  if (const auto bad = FirstNotFinite(state)) {
    return MakeStatus(StatusCode::kInternal,
                      "the optimizer state of the dense part holds {} after step {}: lower "
                      "learning_rate",
                      ForPeople(state[*bad]), step);
  }
  return OkStatus();
}

Result<bool> TrainingStep::ApplyDense(float learning_rate, uint64_t step) {
  // Frozen projections have no gradient; weight decay must not move them either.
  frozen_.clear();
  for (const EmbeddingLayer::Projection& projection : embedding_.projections()) {
    if (!embedding_.tables().features[projection.feature].table.freeze) continue;
    const std::span<const float> values = dense_.values(projection.block);
    frozen_.insert(frozen_.end(), values.begin(), values.end());
  }
  const std::span<const float> summed(exchange_);
  optimizer_->Apply(learning_rate, step, summed.first(dense_.size()), dense_.values());
  auto kept = frozen_.begin();
  for (const EmbeddingLayer::Projection& projection : embedding_.projections()) {
    if (!embedding_.tables().features[projection.feature].table.freeze) continue;
    const std::span<float> values = dense_.values(projection.block);
    std::copy_n(kept, values.size(), values.begin());
    kept += static_cast<std::ptrdiff_t>(values.size());
  }
  RETURN_IF_ERROR(CheckDense(step));
  if (rows_) {
    RETURN_IF_ERROR(rows_->Apply(step, learning_rate,
                                 summed.subspan(dense_.size(), rows_->allreduce_floats())));
  }
  return exchange_[exchange_.size() - kFlags] > 0.0f;
}

}  // namespace rowhouse
