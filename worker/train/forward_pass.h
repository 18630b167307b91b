// ForwardPass: a model from samples to probabilities: the embedding layer, the dense layers, and
// the parameters of both. It does no I/O: the caller fetches the rows.
//
// Prepare(batch) -> the caller fills row_batches() and bag_batches() -> RowsArrived() -> Forward of
// all samples or of one range after the other. TrainingStep adds backward pass and optimizers,
// Scorer a source of rows.
// Threads: one caller; oneDNN uses the OpenMP threads that the process was given.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "sharding/tables/embedding_tables.h"
#include "worker/data/batch.h"
#include "worker/dense/dense_parameters.h"
#include "worker/dense/dlrm_model.h"
#include "worker/embedding/embedding.h"
#include "worker/embedding/row_batch.h"
#include "worker/embedding/slices.h"

namespace rowhouse {

class ForwardPass {
 public:
  // Dense parameters are zeros. Requires model.Validate() to be OK and one table for each vector
  // that the model takes. `pools_on_shards`: for each physical table, whether the source of rows
  // pools its bags; empty: it pools none.
  ForwardPass(const ModelSpec& model, const EmbeddingTables& tables,
              const std::vector<bool>& pools_on_shards = {});

  // Takes a batch of any number of samples, 0 included; `batch` stays where it is until the next
  // call. kUsage, naming sample and place, if an id is out of range or a dense feature or label is
  // not finite.
  Status Prepare(const Batch& batch);

  // Until the next Prepare, passes are of training: they drop units of hidden layers, as the model
  // says. `draws`: of the batch's samples.
  void DropUnitsBy(const DropoutDraws& draws) { draws_ = draws; }

  // The distinct rows of the batch, ascending within a table; values are the caller's to fill.
  std::vector<RowBatch>& row_batches() { return embedding_.row_batches(); }
  const std::vector<RowBatch>& row_batches() const { return embedding_.row_batches(); }
  // The bags of the batch that the source of rows pools; likewise.
  std::vector<BagBatch>& bag_batches() { return embedding_.bag_batches(); }
  const std::vector<BagBatch>& bag_batches() const { return embedding_.bag_batches(); }

  // What needs no rows of Forward of these samples: it may be called while rows are on their way.
  void ForwardBottom(SampleSlice samples);

  // To be called once the values are there.
  void RowsArrived() { embedding_.RowsArrived(); }

  // The probabilities of samples [first, first + count) of the batch, good until the next call.
  std::span<const float> Forward(SampleSlice samples);
  // The same for all samples. kInternal (DivergedError) if a probability is not finite.
  Result<std::span<const float>> Predict();

  // kInternal: "<what>; the weight furthest from 0 is ..., of <its place>: lower learning_rate".
  Status DivergedError(const std::string& what);

  // "table "name", row 3, column 5", of float `index` of the batch's values or gradients.
  std::string RowName(const RowBatch& batch, size_t index) const;

  // See TrainingStep.
  void CountPhasesIn(PhaseLog* log);
  // "<phase>/<feature>", with what its lookups are like: amounts samples and lookups.
  PhaseKind KindOf(const std::string& phase, size_t feature) const;
  // The ids of a feature in these samples, as the data have them.
  uint64_t LookupsOf(size_t feature, SampleSlice samples) const;

  // Memory of what Forward keeps.
  size_t activation_bytes() const;

  const Batch& batch() const { return *batch_; }
  DenseParameters& dense() { return dense_; }
  DlrmModel& model() { return model_; }
  EmbeddingLayer& embedding() { return embedding_; }
  const EmbeddingLayer& embedding() const { return embedding_; }

 private:
  DenseParameters dense_;
  DlrmModel model_;
  EmbeddingLayer embedding_;  // after the model: its projections follow the model's parameters
  const Batch* batch_ = nullptr;
  std::optional<DropoutDraws> draws_;       // of the batch, in training
  std::optional<SampleSlice> bottom_of_;    // of which ForwardBottom was called, for Forward
  std::vector<std::vector<float>> pooled_;  // of each feature: samples x its width
  PhaseLog* phases_ = nullptr;
  std::vector<PhaseLog::Phase> pool_;  // of each feature, if spans are kept
};

// Probabilities for batches of samples, from a model and a source of its rows. It needs
// neither MPI nor a run: evaluation during training and predictions from a saved model differ in
// the RowSource only. Threads: one.
class Scorer {
 public:
  // Both outlive the scorer. Scoring overwrites the batch of `forward`. If a training step has the
  // same `forward`, the step must be prepared again afterwards. `slice_samples`: the model computes
  // this many samples at a time, so that what it computes stays in the CPU's caches and batches of
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
