#include "worker/train/scorer.h"

namespace rowhouse {

Result<std::span<const float>> Scorer::Score(const Batch& batch, const std::string& name) {
  RETURN_IF_ERROR(forward_.Prepare(batch).Annotate(name));
  RETURN_IF_ERROR(rows_.Read(&forward_.row_batches(), &forward_.bag_batches()));
  forward_.RowsArrived();
  const Result<std::span<const float>> predictions = forward_.Predict();
  RETURN_IF_ERROR(predictions.status().Annotate(name));
  return predictions;
}

}  // namespace rowhouse
