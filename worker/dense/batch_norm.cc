#include "worker/dense/batch_norm.h"

#include <algorithm>
#include <cmath>

#include "common/kernels/target_clones.h"
#include "worker/dense/column_parts.h"

namespace rowhouse {
namespace {

constexpr double kEpsilon = 1e-5, kShareOfStep = 0.1;

// Columns of an array of samples; a row begins `leading` floats after the one before it.
struct Columns {
  size_t samples, count, leading;
};

ROWHOUSE_TARGET_CLONES
void AddTo(const Columns& of, const float* x, double* sum) {
  for (size_t s = 0; s < of.samples; ++s) {
    for (size_t c = 0; c < of.count; ++c) sum[c] += x[s * of.leading + c];
  }
}

ROWHOUSE_TARGET_CLONES
void AddSquares(const Columns& of, const float* x, const float* about, double* squares) {
  for (size_t s = 0; s < of.samples; ++s) {
    for (size_t c = 0; c < of.count; ++c) {
      const double from = double{x[s * of.leading + c]} - about[c];
      squares[c] += from * from;
    }
  }
}

ROWHOUSE_TARGET_CLONES
void Normalise(const Columns& of, const float* mean, const float* of_one, const float* weight,
               const float* bias, float* normalised, float* y) {
  for (size_t s = 0; s < of.samples; ++s) {
    for (size_t c = 0; c < of.count; ++c) {
      const size_t i = s * of.leading + c;
      const float value = (y[i] - mean[c]) * of_one[c];
      normalised[i] = value;
      y[i] = std::max(0.0f, value * weight[c] + bias[c]);
    }
  }
}

ROWHOUSE_TARGET_CLONES
void ScaleAndShift(size_t samples, size_t units, const float* scale, const float* shift, float* y) {
  for (size_t s = 0; s < samples; ++s, y += units) {
    for (size_t c = 0; c < units; ++c) y[c] = std::max(0.0f, y[c] * scale[c] + shift[c]);
  }
}

ROWHOUSE_TARGET_CLONES
void SumGradients(const Columns& of, const float* y, const float* normalised, float* dy,
                  double* of_bias, double* of_weight) {
  for (size_t s = 0; s < of.samples; ++s) {
    for (size_t c = 0; c < of.count; ++c) {
      const size_t i = s * of.leading + c;
      const float value = y[i] > 0.0f ? dy[i] : 0.0f;
      dy[i] = value;
      of_bias[c] += value;
      of_weight[c] += double{value} * normalised[i];
    }
  }
}

// dx = factor * (dy - bias_mean - normalised * weight_mean)
ROWHOUSE_TARGET_CLONES
void BackwardRows(const Columns& of, const float* normalised, const float* factor,
                  const float* bias_mean, const float* weight_mean, float* dy) {
  for (size_t s = 0; s < of.samples; ++s) {
    for (size_t c = 0; c < of.count; ++c) {
      const size_t i = s * of.leading + c;
      dy[i] = factor[c] * (dy[i] - bias_mean[c] - normalised[i] * weight_mean[c]);
    }
  }
}

}  // namespace

BatchNorm::BatchNorm(uint32_t units, const std::string& name, DenseParameters* parameters)
    : units_(units),
      parameters_(parameters),
      weight_(parameters->Add(name + ".weight", units, 1, InitialValues::kOne)),
      bias_(parameters->Add(name + ".bias", units, 1)),
      mean_(parameters->Add(name + ".running_mean", units, 1)),
      variance_(parameters->Add(name + ".running_var", units, 1, InitialValues::kOne)) {}

void BatchNorm::ForwardOfStep(size_t samples, const SumOverWorkers& sum, float* y) {
  samples_ = samples;
  std::vector<double> totals(units_);
  ForColumns(samples, units_, [&](size_t first, size_t count) {
    AddTo({samples, count, units_}, y + first, totals.data() + first);
  });
  sums_.assign(totals.begin(), totals.end());
  sums_.push_back(static_cast<float>(samples));
  if (sum) sum(sums_);
  all_samples_ = sums_.back();
  const double all = std::max(1.0, all_samples_);
  std::vector<float> mean(units_);
  for (size_t c = 0; c < units_; ++c) mean[c] = static_cast<float>(sums_[c] / all);

  std::ranges::fill(totals, 0.0);
  ForColumns(samples, units_, [&](size_t first, size_t count) {
    AddSquares({samples, count, units_}, y + first, mean.data() + first, totals.data() + first);
  });
  sums_.assign(totals.begin(), totals.end());
  if (sum) sum(sums_);
  const std::span<const float> running_mean = parameters_->values(mean_);
  const std::span<const float> running_variance = parameters_->values(variance_);
  of_one_.resize(units_);
  next_mean_.assign(running_mean.begin(), running_mean.end());
  next_variance_.assign(running_variance.begin(), running_variance.end());
  const auto move = [](float* running, double to) {
    *running = static_cast<float>((1 - kShareOfStep) * *running + kShareOfStep * to);
  };
  for (size_t c = 0; c < units_ && all_samples_ > 0; ++c) {
    of_one_[c] = static_cast<float>(1.0 / std::sqrt(sums_[c] / all + kEpsilon));
    move(&next_mean_[c], mean[c]);
    // One sample has no variance.
    if (all_samples_ > 1) move(&next_variance_[c], sums_[c] / (all - 1));
  }
  normalised_.resize(samples * units_);
  const float* const weight = parameters_->values(weight_).data();
  const float* const bias = parameters_->values(bias_).data();
  ForColumns(samples, units_, [&](size_t first, size_t count) {
    Normalise({samples, count, units_}, mean.data() + first, of_one_.data() + first, weight + first,
              bias + first, normalised_.data() + first, y + first);
  });
}

void BatchNorm::ForwardOfScores(size_t samples, float* y) const {
  std::vector<float> scale(units_), shift(units_);
  for (size_t c = 0; c < units_; ++c) {
    scale[c] = static_cast<float>(parameters_->values(weight_)[c] /
                                  std::sqrt(parameters_->values(variance_)[c] + kEpsilon));
    shift[c] = parameters_->values(bias_)[c] - parameters_->values(mean_)[c] * scale[c];
  }
  ScaleAndShift(samples, units_, scale.data(), shift.data(), y);
}

void BatchNorm::Backward(const float* y, const SumOverWorkers& sum, float* dy) {
  std::vector<double> totals(2 * units_);
  double* const of_weight = totals.data() + units_;
  ForColumns(samples_, units_, [&](size_t first, size_t count) {
    SumGradients({samples_, count, units_}, y + first, normalised_.data() + first, dy + first,
                 totals.data() + first, of_weight + first);
  });
  sums_.assign(totals.begin(), totals.end());
  const auto half = sums_.begin() + static_cast<std::ptrdiff_t>(units_);
  std::copy(sums_.begin(), half, parameters_->gradients(bias_).begin());
  std::copy(half, sums_.end(), parameters_->gradients(weight_).begin());
  std::ranges::fill(parameters_->gradients(mean_), 0.0f);
  std::ranges::fill(parameters_->gradients(variance_), 0.0f);
  if (sum) sum(sums_);

  const auto all = static_cast<float>(std::max(1.0, all_samples_));
  for (float& value : sums_) value /= all;
  std::vector<float> factor(units_);
  for (size_t c = 0; c < units_; ++c) factor[c] = parameters_->values(weight_)[c] * of_one_[c];
  ForColumns(samples_, units_, [&](size_t first, size_t count) {
    BackwardRows({samples_, count, units_}, normalised_.data() + first, factor.data() + first,
                 sums_.data() + first, sums_.data() + units_ + first, dy + first);
  });
}

void BatchNorm::MoveStatistics() {
  std::ranges::copy(next_mean_, parameters_->values(mean_).begin());
  std::ranges::copy(next_variance_, parameters_->values(variance_).begin());
}

}  // namespace rowhouse
