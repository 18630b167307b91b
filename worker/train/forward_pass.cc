#include "worker/train/forward_pass.h"

#include <fmt/core.h>
#include <glog/logging.h>

#include <algorithm>
#include <cmath>

#include "common/kernels/finite.h"

namespace rowhouse {
namespace {

// The weight that is furthest from 0, NaN counting as infinitely far, and whose it is.
class FurthestWeight {
 public:
  // `name_of(i)` says whose values[i] is.
  template <typename NameOf>
  void Add(std::span<const float> values, const NameOf& name_of) {
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

ForwardPass::ForwardPass(const ModelSpec& model, const EmbeddingTables& tables,
                         const std::vector<bool>& pools_on_shards)
    : model_(model, &dense_), embedding_(tables, &dense_, pools_on_shards) {
  CHECK_EQ(embedding_.features(), model.pooled());
  dense_.Allocate();
  pooled_.resize(embedding_.features());
}

Status ForwardPass::Prepare(const Batch& batch) {
  if (const auto bad = FirstNotFinite(batch.dense)) {
    return UsageError(
        "sample {} of the batch: dense feature {} is {}; a model learns nothing from it",
        *bad / batch.dense_features, *bad % batch.dense_features, ForPeople(batch.dense[*bad]));
  }
  if (const auto bad = FirstNotFinite(batch.labels)) {
    return UsageError("sample {} of the batch: its label is {}", *bad,
                      ForPeople(batch.labels[*bad]));
  }
  CHECK(batch.weights.empty() || batch.weights.size() == batch.samples);
  for (size_t s = 0; s < batch.weights.size(); ++s) {
    if (batch.weights[s] >= 0.0f && std::isfinite(batch.weights[s])) continue;
    return UsageError("sample {} of the batch: its weight is {}; it must be 0 or more", s,
                      ForPeople(batch.weights[s]));
  }
  batch_ = &batch;
  bottom_of_.reset();
  draws_.reset();
  return embedding_.Prepare(batch.features);
}

void ForwardPass::ForwardBottom(SampleSlice samples) {
  const size_t width = batch_->dense_features;
  model_.DropUnitsBy(draws_ ? std::optional(DropoutDraws{.key = draws_->key,
                                                         .first = draws_->first + samples.first})
                            : std::nullopt);
  model_.ForwardBottom(
      std::span(batch_->dense).subspan(samples.first * width, samples.count * width),
      samples.count);
  bottom_of_ = samples;
}

std::span<const float> ForwardPass::Forward(SampleSlice samples) {
  if (bottom_of_ != samples) ForwardBottom(samples);
  bottom_of_.reset();
  for (size_t k = 0; k < pooled_.size(); ++k) {
    pooled_[k].resize(samples.count * embedding_.out_width(k));
    embedding_.Forward(k, samples, pooled_[k]);
    if (!pool_.empty()) phases_->End(pool_[k], samples.count, LookupsOf(k, samples));
  }
  if (phases_ != nullptr) phases_->End(Number(StepPhase::kPool));
  return model_.ForwardRest(pooled_);
}

size_t ForwardPass::activation_bytes() const {
  size_t floats = 0;
  for (const std::vector<float>& pooled : pooled_) floats += pooled.capacity();
  return floats * sizeof(float) + model_.activation_bytes();
}

void ForwardPass::CountPhasesIn(PhaseLog* log) {
  phases_ = log;
  model_.CountPhasesIn(
      {.log = log, .mlp = Number(StepPhase::kMlp), .interaction = Number(StepPhase::kInteraction)});
  pool_.clear();
  if (log == nullptr || !log->keeps_spans()) return;
  for (size_t k = 0; k < pooled_.size(); ++k) pool_.push_back(log->Add(KindOf("pool", k)));
}

PhaseKind ForwardPass::KindOf(const std::string& phase, size_t feature) const {
  const FeatureTable& of = embedding_.tables().features[feature];
  return {.name = phase + "/" + of.table.name,
          .amounts = {"samples", "lookups"},
          .sizes = {{"table_rows", static_cast<double>(of.table.rows)},
                    {"dim", static_cast<double>(of.table.dim)},
                    {"parts", static_cast<double>(of.parts.size())}}};
}

uint64_t ForwardPass::LookupsOf(size_t feature, SampleSlice samples) const {
  const std::vector<uint32_t>& offsets =
      batch_->features[embedding_.tables().ColumnOf(feature)].offsets;
  return offsets[samples.first + samples.count] - offsets[samples.first];
}

Result<std::span<const float>> ForwardPass::Predict() {
  const std::span<const float> predictions = Forward({0, batch_->samples});
  if (const auto bad = FirstNotFinite(predictions)) {
    return DivergedError(fmt::format("sample {} of the batch: the prediction is {}", *bad,
                                     ForPeople(predictions[*bad])));
  }
  return predictions;
}

// The gradient of one row is not finite because of another's weight as a rule: the message names
// the likely cause too.
Status ForwardPass::DivergedError(const std::string& what) {
  FurthestWeight furthest;
  for (const RowBatch& batch : row_batches()) {
    furthest.Add(batch.values, [&](size_t i) { return RowName(batch, i); });
  }
  for (const DenseParameters::Block& block : dense_.blocks()) {
    furthest.Add(dense_.values().subspan(block.offset, block.size()),
                 [&](size_t) { return fmt::format("dense parameters \"{}\"", block.name); });
  }
  return MakeStatus(StatusCode::kInternal,
                    "{}; the weight furthest from 0 is {}: lower learning_rate", what,
                    furthest.text());
}

std::string ForwardPass::RowName(const RowBatch& batch, size_t index) const {
  return fmt::format("table \"{}\", row {}, column {}",
                     embedding_.tables().physical[Raw(batch.table)].name,
                     Raw(batch.rows[index / batch.dim]), index % batch.dim);
}

Result<std::span<const float>> Scorer::Score(const Batch& batch, const std::string& name) {
  RETURN_IF_ERROR(forward_.Prepare(batch).Annotate(name));
  RETURN_IF_ERROR(rows_.Read(&forward_.row_batches(), &forward_.bag_batches()));
  forward_.RowsArrived();
  const Result<std::span<const float>> predictions =
      slice_samples_ == 0 ? forward_.Predict() : PredictInSlices(batch.samples);
  RETURN_IF_ERROR(predictions.status().Annotate(name));
  return predictions;
}

// The last slice of a batch is filled up with samples before it, so that all slices have one shape.
Result<std::span<const float>> Scorer::PredictInSlices(size_t samples) {
  scores_.resize(samples);
  for (size_t done = 0; done < samples;) {
    const size_t end = std::min(done + slice_samples_, samples);
    const size_t first = end - std::min(slice_samples_, end);
    std::ranges::copy(forward_.Forward({first, end - first}),
                      scores_.begin() + static_cast<std::ptrdiff_t>(first));
    done = end;
  }
  // Says which sample it is.
  if (FirstNotFinite(scores_)) return forward_.Predict();
  return std::span<const float>(scores_);
}

}  // namespace rowhouse
