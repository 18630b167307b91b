// "sign" for the dense part; it takes the option of the row optimizer of this name, and one flag
// sets both.
#include <cmath>

#include "worker/dense/dense_optimizer.h"

namespace rowhouse {
namespace {

const DeclaredOption kDeadZone = DeclaredOption::Real(
    "dead_zone", 0.0, 0.0, 100.0, "gradients up to it leave a weight where it is");

class DenseSign final : public DenseOptimizer {
 public:
  static constexpr std::span<const OptimizerOptionMember> kTakes = {};
  explicit DenseSign(const DenseOptimizerOptions& given)
      : DenseOptimizer(given),
        dead_zone_(static_cast<float>(kDeadZone.RealIn(given.options.own))) {}

  std::span<float> state() override { return {}; }

 private:
  void Update(float learning_rate, uint64_t, std::span<const float> gradients,
              std::span<float> parameters) override {
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (std::fabs(gradients[i]) <= dead_zone_) continue;
      parameters[i] -= std::copysign(learning_rate, gradients[i]);
    }
  }

  const float dead_zone_;
};

REGISTER_MEMBER(AddDenseOptimizer<DenseSign>("sign", {kDeadZone}));

}  // namespace
}  // namespace rowhouse
