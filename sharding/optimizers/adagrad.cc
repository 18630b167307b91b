// Adagrad (Duchi et al., 2011):  h += g*g;  w -= learning_rate * (g / (sqrt(h) + epsilon)).
//
// Epsilon is added after the root and the quotient is made first, both as torch does.
#include <algorithm>

#include "common/kernels/row_updates.h"
#include "sharding/optimizer.h"

namespace rowhouse {
namespace {

class Adagrad final : public Optimizer {
 public:
  explicit Adagrad(const OptimizerOptions& options) : options_(options) {}

  size_t state_floats(size_t dim) const override { return dim; }
  void InitState(std::span<float> state) const override {
    std::fill(state.begin(), state.end(), options_.initial_accumulator);
  }
  void Apply(const StepContext& step, std::span<const float> gradient, std::span<float> weights,
             std::span<float> state) const override {
    AdagradUpdate(step.learning_rate, options_.epsilon, gradient, weights, state);
  }

 private:
  const OptimizerOptions options_;
};

const bool kRegistered = Optimizers().Add<Adagrad>("adagrad");

}  // namespace
}  // namespace rowhouse
