// Stochastic gradient descent:  w -= learning_rate * g.
#include "common/kernels/row_updates.h"
#include "sharding/optimizer.h"

namespace rowhouse {
namespace {

class Sgd final : public Optimizer {
 public:
  explicit Sgd(const OptimizerOptions&) {}

  size_t state_floats(size_t) const override { return 0; }
  void InitState(std::span<float> state) const override { CHECK(state.empty()); }
  void Apply(const StepContext& step, std::span<const float> gradient, std::span<float> weights,
             std::span<float> state) const override {
    CHECK(state.empty());
    SgdUpdate(step.learning_rate, gradient, weights);
  }
};

const bool kRegistered = Optimizers().Add<Sgd>("sgd");

}  // namespace
}  // namespace rowhouse
