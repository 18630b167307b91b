// "scaled_sum": the sum of all vectors, which are of one width, times the option sum_scale.
#include <algorithm>

#include "worker/dense/interaction.h"

namespace rowhouse {
namespace {

const DeclaredOption kScale =
    DeclaredOption::Real("sum_scale", 1.0, -10.0, 10.0, "of the sum of the vectors");

class ScaledSum final : public Interaction {
 public:
  explicit ScaledSum(const InteractionOptions& options)
      : width_(options.widths.front()), scale_(static_cast<float>(kScale.RealIn(options.own))) {}

  uint32_t width() const override { return width_; }
  void Forward(std::span<const float* const> vectors, size_t samples, float* z) override {
    for (size_t i = 0; i < samples * width_; ++i) {
      float sum = 0.0f;
      for (const float* const vector : vectors) sum += vector[i];
      z[i] = scale_ * sum;
    }
  }
  void Backward(const float* dz, size_t samples, std::span<float* const> gradients) override {
    for (float* const gradient : gradients) {
      for (size_t i = 0; i < samples * width_; ++i) gradient[i] = scale_ * dz[i];
    }
  }

 private:
  const uint32_t width_;
  const float scale_;
};

REGISTER_MEMBER(Interactions().Add<ScaledSum>("scaled_sum", InteractionDeclaration{}, {kScale}));

}  // namespace
}  // namespace rowhouse
