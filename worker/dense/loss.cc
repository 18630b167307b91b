#include "worker/dense/loss.h"

#include <algorithm>
#include <cmath>

namespace rowhouse {
namespace {

class MeanSquaredError final : public Loss {
 public:
  explicit MeanSquaredError(const LossOptions&) {}
  double Value(float p, float label) const override {
    const double difference = double{p} - double{label};
    return difference * difference;
  }
  float Gradient(float p, float label) const override { return 2.0f * (p - label); }
};

double BinaryCrossEntropy(double p, double label) {
  return -(label * std::max(std::log(p), -100.0) +
           (1.0 - label) * std::max(std::log(1.0 - p), -100.0));
}

float BinaryCrossEntropyGradient(float p, float label) {
  return (p - label) / std::max((1.0f - p) * p, 1e-12f);
}

const DeclaredOption kSmoothing = DeclaredOption::Real(
    "label_smoothing", 0.0, 0.0, 0.5,
    "trains on t * (1 - this) + this / 2 instead of the label t, so that no prediction pays off "
    "that "
    "is too sure; the training loss is of these, tests and validations are of the labels");

class CrossEntropy : public Loss {
 public:
  explicit CrossEntropy(const LossOptions& options) : smoothing_(kSmoothing.RealIn(options.own)) {}
  double Value(float p, float label) const override { return BinaryCrossEntropy(p, Target(label)); }
  float Gradient(float p, float label) const override {
    return BinaryCrossEntropyGradient(p, Target(label));
  }

 private:
  // The label itself, to the bit, without smoothing.
  float Target(float label) const {
    return static_cast<float>(double{label} * (1.0 - smoothing_) + 0.5 * smoothing_);
  }
  const double smoothing_;
};

class WeightedCrossEntropy final : public CrossEntropy {
 public:
  explicit WeightedCrossEntropy(const LossOptions& options)
      : CrossEntropy(options), weights_(options.class_weights) {}
  double Value(float p, float label) const override {
    return Weight(label) * CrossEntropy::Value(p, label);
  }
  float Gradient(float p, float label) const override {
    return static_cast<float>(Weight(label)) * CrossEntropy::Gradient(p, label);
  }

 private:
  double Weight(float label) const { return weights_[label >= 1.0f ? 1 : 0]; }
  const std::array<double, 2> weights_;
};

REGISTER_MEMBER(Losses().Add<MeanSquaredError>("mse", LossDeclaration{}));
REGISTER_MEMBER(Losses().Add<CrossEntropy>("bce", LossDeclaration{.is_logloss = true},
                                           {kSmoothing}));
REGISTER_MEMBER(Losses().Add<WeightedCrossEntropy>("wbce", LossDeclaration{}, {kSmoothing}));

}  // namespace

LossRegistry& Losses() {
  static LossRegistry registry("loss");
  return registry;
}

}  // namespace rowhouse
