#include "launch/score/piece_scorer.h"

#include <algorithm>
#include <chrono>

namespace rowhouse {
namespace {

// Few enough that their rows stay in the CPU's caches.
constexpr size_t kPartSamples = 2048;

}  // namespace

void PieceScorer::TakePart(const Batch& batch, size_t first, size_t end) {
  const auto take = [&](const std::vector<float>& from, size_t width, std::vector<float>* to) {
    const auto begin = from.begin() + static_cast<std::ptrdiff_t>(first * width);
    to->assign(begin, begin + static_cast<std::ptrdiff_t>((end - first) * width));
  };
  part_.Clear(batch.dense_features, batch.features.size());
  part_.samples = end - first;
  take(batch.dense, batch.dense_features, &part_.dense);
  if (!batch.labels.empty()) take(batch.labels, 1, &part_.labels);
  if (!batch.weights.empty()) take(batch.weights, 1, &part_.weights);
  for (size_t k = 0; k < batch.features.size(); ++k) {
    part_.features[k].Append(batch.features[k], first, end);
  }
}

Status PieceScorer::AddRows(const Batch& batch) {
  rows_.Clear();
  for (size_t first = 0; first < batch.samples; first += kPartSamples) {
    TakePart(batch, first, std::min(first + kPartSamples, batch.samples));
    RETURN_IF_ERROR(forward_.Prepare(part_));
    rows_.Add(forward_.row_batches());
  }
  return OkStatus();
}

Status PieceScorer::ScoreParts(const Batch& batch) {
  scores_.resize(batch.samples);
  for (size_t done = 0; done < batch.samples;) {
    const size_t end = std::min(done + kPartSamples, batch.samples);
    // As Scorer does: a last slice is filled up with samples before it.
    const size_t first = std::min(done, end - std::min(slice_samples_, end));
    TakePart(batch, first, end);
    ASSIGN_OR_RETURN(const std::span<const float> scores, scorer_.Score(part_, ""));
    std::ranges::copy(scores, scores_.begin() + static_cast<std::ptrdiff_t>(first));
    done = end;
  }
  return OkStatus();
}

Result<std::span<const float>> PieceScorer::Score(const Batch& batch, const std::string& name) {
  if (!rows_.reads_files() || batch.samples == 0) return scorer_.Score(batch, name);
  // Of the piece as a whole, errors say which sample of it is wrong.
  if (!AddRows(batch).ok()) return forward_.Prepare(batch).Annotate(name);
  {
    MutexLock turn(turns_.reading);
    const auto began = std::chrono::steady_clock::now();
    RETURN_IF_ERROR(rows_.ReadFiles());
    turns_.seconds_read +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  }
  turns_.computing.acquire();
  const Status scored = ScoreParts(batch);
  turns_.computing.release();
  if (!scored.ok()) return scorer_.Score(batch, name);
  return std::span<const float>(scores_);
}

}  // namespace rowhouse
