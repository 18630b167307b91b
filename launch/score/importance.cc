#include "launch/score/importance.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "common/random.h"
#include "worker/data/metrics.h"

namespace rowhouse {
namespace {

constexpr uint64_t kPermutedAtOnce = 4096;
constexpr uint64_t kSeed = 1;

// Which sample's value each sample gets (Fisher and Yates).
std::vector<size_t> OrderOf(size_t samples, size_t column) {
  std::vector<size_t> order(samples);
  std::iota(order.begin(), order.end(), size_t{0});
  SplitMix64 random(MixBits(kSeed, column));
  for (size_t i = samples; i > 1; --i) std::swap(order[i - 1], order[random.Next() % i]);
  return order;
}

// Samples in memory, with the values of one column in another order.
class PermutedStream final : public SampleStream {
 public:
  // `column`: a dense one, or the dense ones' number and that of a feature; of no column if it is
  // past them.
  PermutedStream(const Batch& samples, size_t column)
      : samples_(samples), column_(column), order_(OrderOf(samples.samples, column)) {}

  Result<bool> Take(SamplePiece* piece) override {
    const uint64_t count = std::min(kPermutedAtOnce, samples_.samples - next_);
    if (count == 0) return false;
    piece->name = fmt::format("samples {} to {}", next_, next_ + count - 1);
    piece->read = [this, first = next_, count](Batch* batch, std::vector<std::string>*) {
      Read(first, count, batch);
      return OkStatus();
    };
    next_ += count;
    return true;
  }

 private:
  void Read(size_t first, size_t count, Batch* batch) const {
    const size_t dense = samples_.dense_features;
    batch->Clear(dense, samples_.features.size());
    batch->samples = count;
    const auto begin = samples_.dense.begin() + static_cast<std::ptrdiff_t>(first * dense);
    batch->dense.assign(begin, begin + static_cast<std::ptrdiff_t>(count * dense));
    for (size_t s = 0; column_ < dense && s < count; ++s) {
      batch->dense[s * dense + column_] = samples_.dense[order_[first + s] * dense + column_];
    }
    for (size_t k = 0; k < samples_.features.size(); ++k) {
      if (column_ != dense + k) {
        batch->features[k].Append(samples_.features[k], first, first + count);
        continue;
      }
      for (size_t s = first; s < first + count; ++s) {
        batch->features[k].Append(samples_.features[k], order_[s], order_[s] + 1);
      }
    }
    const auto labels = samples_.labels.begin() + static_cast<std::ptrdiff_t>(first);
    batch->labels.assign(labels, labels + static_cast<std::ptrdiff_t>(count));
  }

  const Batch& samples_;
  const size_t column_;
  const std::vector<size_t> order_;
  uint64_t next_ = 0;
};

Result<double> AucWithout(const ScoringModel& model, const Batch& samples, size_t column,
                          const ScoringOptions& options) {
  PermutedStream stream(samples, column);
  std::vector<float> scores;
  RETURN_IF_ERROR(
      ScoreSamples(model, stream, options, [&](const Batch&, std::span<const float> some) {
        scores.insert(scores.end(), some.begin(), some.end());
        return OkStatus();
      }).status());
  return ComputeMetrics(samples.labels, scores).roc_auc;
}

}  // namespace

void FirstSamples::Add(const Batch& batch) {
  if (batch_.samples == 0) batch_.Clear(batch.dense_features, batch.features.size());
  const size_t count = std::min<size_t>(batch.samples, kMaxSamples - batch_.samples);
  const auto append = [](const std::vector<float>& from, size_t values, std::vector<float>* to) {
    to->insert(to->end(), from.begin(), from.begin() + static_cast<std::ptrdiff_t>(values));
  };
  append(batch.dense, count * batch.dense_features, &batch_.dense);
  append(batch.labels, count, &batch_.labels);
  for (size_t k = 0; k < batch.features.size(); ++k) {
    batch_.features[k].Append(batch.features[k], 0, count);
  }
  batch_.samples += count;
}

Result<Importance> MeasureImportance(const ScoringModel& model, const Batch& samples,
                                     const std::vector<std::string>& names,
                                     const ScoringOptions& options) {
  CHECK_EQ(names.size(), samples.dense_features + samples.features.size());
  Importance importance{.samples = samples.samples, .columns = {}};
  ASSIGN_OR_RETURN(importance.auc, AucWithout(model, samples, names.size(), options));
  for (size_t column = 0; column < names.size(); ++column) {
    ASSIGN_OR_RETURN(const double auc, AucWithout(model, samples, column, options));
    importance.columns.push_back({.name = names[column],
                                  .is_dense = column < samples.dense_features,
                                  .auc_lost = importance.auc - auc});
  }
  std::ranges::stable_sort(importance.columns, std::ranges::greater(), &ColumnImportance::auc_lost);
  return importance;
}

}  // namespace rowhouse
