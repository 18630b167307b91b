#include "worker/train/training_step.h"

#include <fmt/core.h>
#include <glog/logging.h>

#include <algorithm>
#include <cmath>

#include "common/kernels/finite.h"

namespace rowhouse {
namespace {

// At the end of the allreduce buffer: asked to stop, gave up.
constexpr size_t kFlags = 2;

// See TrainingStepOptions::lookup_l2.
void AddLookupL2(double lookup_l2, uint64_t global_samples, std::vector<RowBatch>* batches) {
  for (RowBatch& batch : *batches) {
    if (!batch.trains) continue;
    for (size_t row = 0; row < batch.rows.size(); ++row) {
      const auto factor =
          static_cast<float>(lookup_l2 * batch.counts[row] / static_cast<double>(global_samples));
      const float* const values = &batch.values[row * batch.dim];
      float* const gradients = &batch.gradients[row * batch.dim];
      for (size_t c = 0; c < batch.dim; ++c) gradients[c] += factor * values[c];
    }
  }
}

}  // namespace

TrainingStep::TrainingStep(const TrainingStepOptions& options, std::unique_ptr<WorkerRows> rows)
    : options_(options),
      forward_(options.model, options.tables, options.pools_on_shards),
      rows_(std::move(rows)) {
  CHECK_GE(options_.accumulation, 1u);
  CHECK(options_.accumulation == 1 || !options_.model.batch_norm);
  CHECK(options_.lookup_l2 == 0.0 || std::ranges::count(options_.pools_on_shards, true) == 0);
  DenseOptimizerOptions optimizer_options = options_.optimizer_options;
  optimizer_options.parameters = dense().size();
  optimizer_ = DenseOptimizers().Make(options_.optimizer, optimizer_options).value();
  pooled_gradients_.resize(embedding().features());
  allreduce_.resize(dense().size() + (rows_ ? rows_->allreduce_floats() : 0) + kFlags);
  if (options_.accumulation == 1)
    dense().PlaceGradients(std::span(allreduce_).first(dense().size()));
}

void TrainingStep::SumOverWorkersBy(SumOfWorkers sum) {
  sum_over_workers_ = std::move(sum);
  sums_of_a_step_ = model().SumsOfAStep();
  model().SumOverWorkersBy([this](std::span<float> values) { SumOverWorkers(values); });
}

void TrainingStep::SumOverWorkers(std::span<float> values) {
  CHECK_EQ(values.size(), sums_of_a_step_.at(sums_done_));
  ++sums_done_;
  if (summed_.ok()) summed_ = sum_over_workers_(values);
}

void TrainingStep::CountPhasesIn(PhaseLog* log) {
  phases_ = log;
  forward_.CountPhasesIn(log);
  pool_backward_.clear();
  if (log == nullptr || !log->keeps_spans()) return;
  for (size_t k = 0; k < embedding().features(); ++k) {
    pool_backward_.push_back(log->Add(forward_.KindOf("pool_backward", k)));
  }
}

size_t TrainingStep::activation_bytes() const {
  size_t floats = 0;
  for (const std::vector<float>& gradients : pooled_gradients_) floats += gradients.capacity();
  return floats * sizeof(float) + forward_.activation_bytes();
}

uint64_t TrainingStep::distinct_rows() const {
  uint64_t rows = 0;
  for (const RowBatch& batch : forward_.row_batches()) rows += batch.rows.size();
  for (const BagBatch& batch : forward_.bag_batches()) rows += batch.rows.size();
  return rows;
}

Status TrainingStep::Prepare(const Batch& batch, const PlaceOfBatch& place) {
  RETURN_IF_ERROR(forward_.Prepare(batch));
  forward_.DropUnitsBy({.key = DropoutKey(options_.seed, place.step), .first = place.sample});
  if (rows_) rows_->Fill(&forward_.row_batches());
  return OkStatus();
}

SampleSlice TrainingStep::Piece(uint32_t index) const {
  return SliceOf(forward_.batch().samples, options_.accumulation, WorkerRank{index});
}

void TrainingStep::ComputeWithoutRows() { forward_.ForwardBottom(Piece(0)); }

StepFigures TrainingStep::ComputePiece(SampleSlice samples, uint64_t global_samples) {
  const std::span<const float> predictions = forward_.Forward(samples);
  const std::span<const float> labels =
      std::span(forward_.batch().labels).subspan(samples.first, samples.count);
  scores_.insert(scores_.end(), predictions.begin(), predictions.end());
  StepFigures figures;
  figures.samples = samples.count;
  const std::vector<float>& all_weights = forward_.batch().weights;
  const std::span<const float> weights =
      all_weights.empty() ? std::span<const float>()
                          : std::span(all_weights).subspan(samples.first, samples.count);
  figures.loss_sum = model().LossSum(labels, weights);
  for (size_t s = 0; s < samples.count; ++s) {
    // nearbyint rounds half to even, as numpy does: exactly 0.5 counts as class 0.
    figures.correct += std::nearbyint(predictions[s]) == labels[s] ? 1 : 0;
  }
  model().BackwardTop(labels, weights, global_samples, &pooled_gradients_);
  for (size_t k = 0; k < pooled_gradients_.size(); ++k) {
    forward_.embedding().Backward(k, samples, pooled_gradients_[k]);
    if (pool_backward_.empty()) continue;
    phases_->End(pool_backward_[k], samples.count, forward_.LookupsOf(k, samples));
  }
  End(StepPhase::kPoolBackward);
  return figures;
}

Result<StepFigures> TrainingStep::ComputeRows(uint64_t global_samples) {
  forward_.RowsArrived();
  End(StepPhase::kRowGradients);
  scores_.clear();
  StepFigures sum;
  for (uint32_t piece = 0; piece < options_.accumulation; ++piece) {
    if (piece > 0) BackwardBottom(piece - 1);
    const StepFigures figures = ComputePiece(Piece(piece), global_samples);
    sum.loss_sum += figures.loss_sum;
    sum.samples += figures.samples;
    sum.correct += figures.correct;
  }
  RETURN_IF_ERROR(summed_);
  if (options_.lookup_l2 > 0.0) {
    AddLookupL2(options_.lookup_l2, global_samples, &forward_.row_batches());
  }
  if (const std::string bad = WhatOfTheRowsIsNotFinite(sum.loss_sum); !bad.empty())
    return forward_.DivergedError(bad);
  End(StepPhase::kRowGradients);
  return sum;
}

// The rest of a piece's backward pass.
void TrainingStep::BackwardBottom(uint32_t piece) {
  model().BackwardBottom();
  if (options_.accumulation == 1) return;  // Gradients are in allreduce_.
  const std::span<const float> gradients = dense().gradients();
  if (piece == 0) {
    std::copy(gradients.begin(), gradients.end(), allreduce_.begin());
  } else {
    for (size_t i = 0; i < gradients.size(); ++i) allreduce_[i] += gradients[i];
  }
  End(StepPhase::kDenseUpdate);
}

Status TrainingStep::ComputeRest() {
  BackwardBottom(options_.accumulation - 1);
  RETURN_IF_ERROR(summed_);
  if (rows_) {
    rows_->WriteGradients(forward_.row_batches(),
                          std::span(allreduce_).subspan(dense().size(), rows_->allreduce_floats()));
  }
  allreduce_[allreduce_.size() - kFlags] = is_stop_asked_ ? 1.0f : 0.0f;
  allreduce_.back() = 0.0f;
  const std::string bad = WhatOfTheDensePartIsNotFinite();
  End(StepPhase::kDenseUpdate);
  return bad.empty() ? OkStatus() : forward_.DivergedError(bad);
}

void TrainingStep::GiveUp() {
  while (sums_done_ < sums_of_a_step_.size()) {
    std::vector<float> nothing(sums_of_a_step_[sums_done_]);
    SumOverWorkers(nothing);
  }
  std::fill(allreduce_.begin(), allreduce_.end(), 0.0f);
  allreduce_.back() = 1.0f;
}

std::string TrainingStep::WhatOfTheRowsIsNotFinite(double loss_sum) {
  if (!std::isfinite(loss_sum)) return fmt::format("the loss is {}", ForPeople(loss_sum));
  for (const RowBatch& batch : forward_.row_batches()) {
    if (const auto bad = FirstNotFinite(batch.gradients)) {
      return fmt::format("the gradient of {} is {}", forward_.RowName(batch, *bad),
                         ForPeople(batch.gradients[*bad]));
    }
  }
  for (const BagBatch& batch : forward_.bag_batches()) {
    if (const auto bad = FirstNotFinite(batch.gradients)) {
      return fmt::format("the gradient of sample {}'s bag of table \"{}\" is {}", *bad / batch.dim,
                         embedding().tables().physical[Raw(batch.table)].name,
                         batch.gradients[*bad]);
    }
  }
  return "";
}

std::string TrainingStep::WhatOfTheDensePartIsNotFinite() {
  for (const DenseParameters::Block& block : dense().blocks()) {
    const std::span<const float> gradients =
        std::span(allreduce_).subspan(block.offset, block.size());
    if (const auto bad = FirstNotFinite(gradients)) {
      return fmt::format("the gradient of dense parameters \"{}\" is {} at {}", block.name,
                         ForPeople(gradients[*bad]), *bad);
    }
  }
  return "";
}

// The dense parts of all workers are equal, bit for bit, so all workers return the same.
Status TrainingStep::CheckDense(uint64_t step) {
  for (const DenseParameters::Block& block : dense().blocks()) {
    const std::span<const float> values = dense().values().subspan(block.offset, block.size());
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
  // Frozen projections have no gradient, but weight decay would move them.
  frozen_.clear();
  for (const EmbeddingLayer::Projection& projection : embedding().projections()) {
    if (!embedding().tables().features[projection.feature].table.freeze) continue;
    const std::span<const float> values = dense().values(projection.block);
    frozen_.insert(frozen_.end(), values.begin(), values.end());
  }
  const std::span<const float> summed(allreduce_);
  optimizer_->Apply(learning_rate, step, summed.first(dense().size()), dense().values());
  auto kept = frozen_.begin();
  for (const EmbeddingLayer::Projection& projection : embedding().projections()) {
    if (!embedding().tables().features[projection.feature].table.freeze) continue;
    const std::span<float> values = dense().values(projection.block);
    std::copy_n(kept, values.size(), values.begin());
    kept += static_cast<std::ptrdiff_t>(values.size());
  }
  model().MoveStatistics();
  sums_done_ = 0;
  RETURN_IF_ERROR(CheckDense(step));
  if (rows_) {
    RETURN_IF_ERROR(rows_->Apply(step, learning_rate,
                                 summed.subspan(dense().size(), rows_->allreduce_floats())));
  }
  return allreduce_[allreduce_.size() - kFlags] > 0.0f;
}

}  // namespace rowhouse
