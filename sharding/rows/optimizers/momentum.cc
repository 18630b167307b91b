// SGD with momentum, as torch's without dampening:  v = momentum * v + g;  w -= learning_rate * v.
//
// Lazy: the velocity is stored with the row and changes only in steps that touch the row. It does
// not fade meanwhile, and the row does not coast on it.
// weight_decay is L2 (DecayedGradient) and so part of the velocity, as in torch.
#include "common/kernels/row_updates.h"
#include "sharding/rows/optimizer.h"

namespace rowhouse {
namespace {

class Momentum final : public OptimizerMember<Momentum> {
 public:
  static constexpr OptimizerOptionMember kTakes[] = {&OptimizerOptions::momentum,
                                                     &OptimizerOptions::weight_decay};
  explicit Momentum(const OptimizerOptions& options) : options_(options) {}

  size_t state_floats(size_t dim) const override { return dim; }
  void Apply(const StepContext& step, std::span<const float> gradient, std::span<float> weights,
             std::span<float> state) const override {
    const DecayedGradient decayed(options_.weight_decay, gradient, weights);
    MomentumUpdate(step.learning_rate, options_.momentum, decayed.values(), weights, state);
  }

 private:
  const OptimizerOptions options_;
};

REGISTER_MEMBER(AddOptimizer<Momentum>("momentum"));

}  // namespace
}  // namespace rowhouse
