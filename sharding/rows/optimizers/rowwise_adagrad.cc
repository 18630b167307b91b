// Row-wise Adagrad (DLRM's RWSAdagrad; FBGEMM's exact row-wise Adagrad), one accumulator a row:
//   h += mean(g*g);  w -= learning_rate * (g / (sqrt(h) + epsilon)).
//
// The mean is over all columns of the row: a cut of columns cannot be updated alone. Epsilon and
// learning_rate_decay as in Adagrad. weight_decay is FBGEMM's L2: weight_decay * w is added to g
// before the mean is taken; DLRM and torch define none for sparse gradients.
#include "common/kernels/row_updates.h"
#include "sharding/rows/optimizer.h"

namespace rowhouse {
namespace {

class RowwiseAdagrad final : public OptimizerMember<RowwiseAdagrad> {
 public:
  static constexpr OptimizerOptionMember kTakes[] = {
      &OptimizerOptions::epsilon, &OptimizerOptions::initial_accumulator,
      &OptimizerOptions::learning_rate_decay, &OptimizerOptions::weight_decay};
  explicit RowwiseAdagrad(const OptimizerOptions& options) : options_(options) {}

  size_t state_floats(size_t) const override { return 1; }
  void InitState(std::span<float> state) const override {
    CHECK_EQ(state.size(), 1u);
    state[0] = options_.initial_accumulator;
  }
  void Apply(const StepContext& step, std::span<const float> gradient, std::span<float> weights,
             std::span<float> state) const override {
    CHECK_EQ(state.size(), 1u);
    const DecayedGradient decayed(options_.weight_decay, gradient, weights);
    const UpdatedRow row{.gradient = decayed.values().data(),
                         .weights = weights.data(),
                         .state = state.data(),
                         .missed_steps = step.missed_steps};
    Update(step, weights.size(), {&row, 1});
  }
  void ApplyAll(const StepContext& step, size_t dim,
                std::span<const UpdatedRow> rows) const override {
    if (options_.weight_decay != 0.0f) return OptimizerMember::ApplyAll(step, dim, rows);
    Update(step, dim, rows);
  }

 private:
  void Update(const StepContext& step, size_t dim, std::span<const UpdatedRow> rows) const {
    RowwiseAdagradUpdate(options_.decayed_rate(step.learning_rate, step.step),
                         options_.epsilon_or(1e-10f), dim, rows);
  }

  const OptimizerOptions options_;
};

// "rwsadagrad": DLRM's name for it.
REGISTER_MEMBER(AddOptimizer<RowwiseAdagrad>("rowwise_adagrad", {},
                                             {.alias = "rwsadagrad",
                                              .has_epsilon_in_digest = true}));

}  // namespace
}  // namespace rowhouse
