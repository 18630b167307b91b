// Row-wise Adagrad (DLRM's RWSAdagrad; FBGEMM's exact row-wise Adagrad), one accumulator a row:
//   h += mean(g*g);  w -= learning_rate * (g / (sqrt(h) + epsilon)).
//
// The mean is over all columns of the row: a cut of columns cannot be updated alone.
#include <cmath>

#include "common/kernels/reductions.h"
#include "common/kernels/row_updates.h"
#include "sharding/optimizer.h"

namespace rowhouse {
namespace {

class RowwiseAdagrad final : public Optimizer {
 public:
  explicit RowwiseAdagrad(const OptimizerOptions& options) : options_(options) {}

  size_t state_floats(size_t) const override { return 1; }
  void InitState(std::span<float> state) const override {
    CHECK_EQ(state.size(), 1u);
    state[0] = options_.initial_accumulator;
  }
  void Apply(const StepContext& step, std::span<const float> gradient, std::span<float> weights,
             std::span<float> state) const override {
    CHECK_EQ(state.size(), 1u);
    state[0] += MeanSquare(gradient);
    ScaledUpdate(step.learning_rate, std::sqrt(state[0]) + options_.epsilon, gradient, weights);
  }

 private:
  const OptimizerOptions options_;
};

const bool kRegistered = Optimizers().Add<RowwiseAdagrad>("rowwise_adagrad");

}  // namespace
}  // namespace rowhouse
