// Adagrad (Duchi et al., 2011):  h += g*g;  w -= learning_rate * (g / (sqrt(h) + epsilon)).
//
// Epsilon is added after the root and the quotient is made first, both as torch does; its own is
// 1e-10. learning_rate_decay divides the rate by 1 + step * decay: the step of the run, also for
// rows seldom touched. weight_decay is L2 (DecayedGradient), inside the square
// too.
#include <algorithm>

#include "common/kernels/row_updates.h"
#include "sharding/rows/optimizer.h"

namespace rowhouse {
namespace {

class Adagrad final : public OptimizerMember<Adagrad> {
 public:
  static constexpr OptimizerOptionMember kTakes[] = {
      &OptimizerOptions::epsilon, &OptimizerOptions::initial_accumulator,
      &OptimizerOptions::learning_rate_decay, &OptimizerOptions::weight_decay};
  explicit Adagrad(const OptimizerOptions& options) : options_(options) {}

  size_t state_floats(size_t dim) const override { return dim; }
  void InitState(std::span<float> state) const override {
    std::fill(state.begin(), state.end(), options_.initial_accumulator);
  }
  void Apply(const StepContext& step, std::span<const float> gradient, std::span<float> weights,
             std::span<float> state) const override {
    const DecayedGradient decayed(options_.weight_decay, gradient, weights);
    AdagradUpdate(options_.decayed_rate(step.learning_rate, step.step), options_.epsilon_or(1e-10f),
                  decayed.values(), weights, state);
  }

 private:
  const OptimizerOptions options_;
};

REGISTER_MEMBER(AddOptimizer<Adagrad>("adagrad", {}, {.has_epsilon_in_digest = true}));

}  // namespace
}  // namespace rowhouse
