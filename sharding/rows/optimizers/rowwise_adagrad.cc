// Row-wise Adagrad (DLRM's RWSAdagrad; FBGEMM's exact row-wise Adagrad), one accumulator a row:
//   h += mean(g*g);  w -= learning_rate * (g / (sqrt(h) + epsilon)).
//
// The mean is over all columns of the row: a cut of columns cannot be updated alone. Epsilon and
// learning_rate_decay as in Adagrad. weight_decay is FBGEMM's L2: weight_decay * w is added to g
// before the mean is taken; DLRM and torch define none for sparse gradients.
#include <algorithm>
#include <array>
#include <cmath>

#include "common/kernels/reductions.h"
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
    const float divisor = AddMeanSquare(decayed.values(), &state[0]);
    ScaledUpdate(options_.decayed_rate(step.learning_rate, step.step), divisor, decayed.values(),
                 weights);
  }

  // Sums and square roots of some rows first: no division then waits for its own row's.
  void ApplyAll(const StepContext& step, size_t dim,
                std::span<const UpdatedRow> rows) const override {
    if (options_.weight_decay != 0.0f) return OptimizerMember::ApplyAll(step, dim, rows);
    const float rate = options_.decayed_rate(step.learning_rate, step.step);
    std::array<float, 32> divisors;
    for (; !rows.empty(); rows = rows.subspan(std::min(divisors.size(), rows.size()))) {
      const auto some = rows.first(std::min(divisors.size(), rows.size()));
      for (size_t i = 0; i < some.size(); ++i) {
        divisors[i] = AddMeanSquare({some[i].gradient, dim}, some[i].state);
      }
      for (size_t i = 0; i < some.size(); ++i) {
        ScaledUpdate(rate, divisors[i], {some[i].gradient, dim}, {some[i].weights, dim});
      }
    }
  }

 private:
  float AddMeanSquare(std::span<const float> gradient, float* accumulator) const {
    *accumulator += MeanSquare(gradient);
    return std::sqrt(*accumulator) + options_.epsilon_or(1e-10f);
  }

  const OptimizerOptions options_;
};

// "rwsadagrad": DLRM's name for it.
REGISTER_MEMBER(AddOptimizer<RowwiseAdagrad>("rowwise_adagrad", {},
                                             {.alias = "rwsadagrad",
                                              .has_epsilon_in_digest = true}));

}  // namespace
}  // namespace rowhouse
