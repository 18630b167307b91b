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

class CrossEntropy final : public Loss {
 public:
  explicit CrossEntropy(const LossOptions&) {}
  double Value(float p, float label) const override { return BinaryCrossEntropy(p, label); }
  float Gradient(float p, float label) const override {
    return BinaryCrossEntropyGradient(p, label);
  }
};

class WeightedCrossEntropy final : public Loss {
 public:
  explicit WeightedCrossEntropy(const LossOptions& options) : weights_(options.class_weights) {}
  double Value(float p, float label) const override {
    return Weight(label) * BinaryCrossEntropy(p, label);
  }
  float Gradient(float p, float label) const override {
    return static_cast<float>(Weight(label)) * BinaryCrossEntropyGradient(p, label);
  }

 private:
  double Weight(float label) const { return weights_[label >= 1.0f ? 1 : 0]; }
  const std::array<double, 2> weights_;
};

REGISTER_MEMBER(Losses().Add<MeanSquaredError>("mse"));
REGISTER_MEMBER(Losses().Add<CrossEntropy>("bce"));
REGISTER_MEMBER(Losses().Add<WeightedCrossEntropy>("wbce"));

}  // namespace

Registry<Loss, LossOptions>& Losses() {
  static Registry<Loss, LossOptions> registry("loss");
  return registry;
}

}  // namespace rowhouse
