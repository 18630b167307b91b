// SGD with momentum, as torch's without dampening:  v = momentum * v + g;  w -= learning_rate * v.
// weight_decay is L2 and so part of the velocity.
#include <vector>

#include "common/kernels/row_updates.h"
#include "worker/dense/dense_optimizer.h"

namespace rowhouse {
namespace {

class Momentum final : public DenseOptimizer {
 public:
  static constexpr OptimizerOptionMember kTakes[] = {&OptimizerOptions::momentum,
                                                     &OptimizerOptions::weight_decay};
  explicit Momentum(const DenseOptimizerOptions& options)
      : DenseOptimizer(options), velocity_(options.parameters, 0.0f) {}

  std::span<float> state() override { return velocity_; }

 private:
  void Update(float learning_rate, uint64_t, std::span<const float> gradients,
              std::span<float> parameters) override {
    MomentumUpdate(learning_rate, options().momentum, Decayed(gradients, parameters), parameters,
                   velocity_);
  }

  std::vector<float> velocity_;
};

REGISTER_MEMBER(AddDenseOptimizer<Momentum>("momentum"));

}  // namespace
}  // namespace rowhouse
