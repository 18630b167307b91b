#include "worker/train/scorer.h"

#include <algorithm>

#include "common/kernels/finite.h"

namespace rowhouse {

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
