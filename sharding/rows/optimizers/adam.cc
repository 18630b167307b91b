// Adam (Kingma & Ba, 2015; torch's Adam, t = step + 1), for rows:
//   m = beta1 * m + (1 - beta1) * g;  v = beta2 * v + (1 - beta2) * g*g
//   w -= learning_rate / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon).
//
// Lazy: m and v are those of dense Adam, for which a step that does not touch the row has gradient
// zero: at the next touch they are first multiplied by beta1^k and beta2^k for the k steps missed.
// The weight moves only in steps that touch the row; dense Adam would go on moving it by what is
// left of m. lazy_adam is the form in which m and v stay as they are, too.
// State: m, then v. Epsilon's own value is 1e-8. weight_decay is L2
// (sharding/rows/decayed_gradient.h), as torch's Adam, in steps that touch the row.
#include <algorithm>

#include "sharding/rows/adam_factors.h"
#include "sharding/rows/decayed_gradient.h"
#include "sharding/rows/optimizer.h"

namespace rowhouse {
namespace {

class Adam final : public Optimizer {
 public:
  static constexpr OptimizerOptionMember kTakes[] = {
      &OptimizerOptions::epsilon, &OptimizerOptions::weight_decay, &OptimizerOptions::beta1,
      &OptimizerOptions::beta2};
  explicit Adam(const OptimizerOptions& options) : options_(options) {}

  size_t state_floats(size_t dim) const override { return 2 * dim; }
  void InitState(std::span<float> state) const override {
    std::fill(state.begin(), state.end(), 0.0f);
  }
  void Apply(const StepContext& step, std::span<const float> gradient, std::span<float> weights,
             std::span<float> state) const override {
    const DecayedGradient decayed(options_.weight_decay, gradient, weights);
    AdamFactors factors = AdamFactorsOf(options_, step.learning_rate, step.step);
    factors.keep_mean = static_cast<float>(Power(double{options_.beta1}, step.missed_steps));
    factors.keep_square = static_cast<float>(Power(double{options_.beta2}, step.missed_steps));
    AdamUpdate(factors, decayed.values(), weights, state.first(weights.size()),
               state.subspan(weights.size()));
  }

 private:
  const OptimizerOptions options_;
};

REGISTER_MEMBER(AddOptimizer<Adam>("adam"));

}  // namespace
}  // namespace rowhouse
