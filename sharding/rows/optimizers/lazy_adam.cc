// Lazy Adam, torch's SparseAdam, t = step + 1:
//   m = beta1 * m + (1 - beta1) * g;  v = beta2 * v + (1 - beta2) * g*g
//   w -= learning_rate * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + epsilon).
//
// Lazy: t counts the steps of the run, but m, v and w of a row change only in steps that touch it.
// State: m, then v. Epsilon's own value is 1e-8. weight_decay is L2
// (sharding/rows/decayed_gradient.h); torch's SparseAdam has none.
#include <algorithm>

#include "sharding/rows/adam_factors.h"
#include "sharding/rows/decayed_gradient.h"
#include "sharding/rows/optimizer.h"

namespace rowhouse {
namespace {

class LazyAdam final : public Optimizer {
 public:
  static constexpr OptimizerOptionMember kTakes[] = {
      &OptimizerOptions::epsilon, &OptimizerOptions::weight_decay, &OptimizerOptions::beta1,
      &OptimizerOptions::beta2};
  explicit LazyAdam(const OptimizerOptions& options) : options_(options) {}

  size_t state_floats(size_t dim) const override { return 2 * dim; }
  void InitState(std::span<float> state) const override {
    std::fill(state.begin(), state.end(), 0.0f);
  }
  void Apply(const StepContext& step, std::span<const float> gradient, std::span<float> weights,
             std::span<float> state) const override {
    const DecayedGradient decayed(options_.weight_decay, gradient, weights);
    AdamUpdate(SparseAdamFactorsOf(options_, step.learning_rate, step.step), decayed.values(),
               weights, state.first(weights.size()), state.subspan(weights.size()));
  }

 private:
  const OptimizerOptions options_;
};

REGISTER_MEMBER(AddOptimizer<LazyAdam>("lazy_adam"));

}  // namespace
}  // namespace rowhouse
