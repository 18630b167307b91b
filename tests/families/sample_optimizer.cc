// "sign": w -= learning_rate * sign(g) where |g| exceeds the option dead_zone.
#include <cmath>

#include "sharding/rows/optimizer.h"

namespace rowhouse {
namespace {

const DeclaredOption kDeadZone = DeclaredOption::Real(
    "dead_zone", 0.0, 0.0, 100.0, "gradients up to it leave a weight where it is");

class Sign final : public OptimizerMember<Sign> {
 public:
  static constexpr std::span<const OptimizerOptionMember> kTakes = {};
  explicit Sign(const OptimizerOptions& options)
      : dead_zone_(static_cast<float>(kDeadZone.RealIn(options.own))) {}

  size_t state_floats(size_t) const override { return 0; }
  void InitState(std::span<float>) const override {}
  void Apply(const StepContext& step, std::span<const float> gradient, std::span<float> weights,
             std::span<float>) const override {
    for (size_t i = 0; i < weights.size(); ++i) {
      if (std::fabs(gradient[i]) <= dead_zone_) continue;
      weights[i] -= std::copysign(step.learning_rate, gradient[i]);
    }
  }

 private:
  const float dead_zone_;
};

REGISTER_MEMBER(AddOptimizer<Sign>("sign", {kDeadZone}));

}  // namespace
}  // namespace rowhouse
