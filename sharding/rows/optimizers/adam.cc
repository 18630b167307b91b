// Adam for rows (Kingma & Ba, 2015), t = step + 1, in two forms:
//   m = beta1 * m + (1 - beta1) * g;  v = beta2 * v + (1 - beta2) * g*g
//   adam (torch's Adam):
//     w -= learning_rate / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon)
//   lazy_adam (torch's SparseAdam):
//     w -= learning_rate * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + epsilon)
//
// Lazy: t counts the steps of the run, and w of a row changes only in steps that touch it; dense
// Adam would go on moving it by what is left of m. In lazy_adam so do m and v. In adam these are
// those of dense Adam, for which a step that does not touch the row has gradient zero: at the next
// touch they are first multiplied by beta1^k and beta2^k for the k steps missed. State: m, then v.
// Epsilon's own value is 1e-8. weight_decay is L2 (DecayedGradient), in steps that
// touch the row; torch's SparseAdam has none.
#include "sharding/rows/adam_factors.h"
#include "sharding/rows/optimizer.h"

namespace rowhouse {
namespace {

template <bool kIsLazy>
class Adam final : public OptimizerMember<Adam<kIsLazy>> {
 public:
  static constexpr OptimizerOptionMember kTakes[] = {
      &OptimizerOptions::epsilon, &OptimizerOptions::weight_decay, &OptimizerOptions::beta1,
      &OptimizerOptions::beta2};
  explicit Adam(const OptimizerOptions& options) : options_(options) {}

  size_t state_floats(size_t dim) const override { return 2 * dim; }
  void Apply(const StepContext& step, std::span<const float> gradient, std::span<float> weights,
             std::span<float> state) const override {
    Update(FactorsOf(step), step.missed_steps, gradient, weights, state);
  }
  void ApplyAll(const StepContext& step, size_t dim,
                std::span<const UpdatedRow> rows) const override {
    const AdamFactors factors = FactorsOf(step);
    for (const UpdatedRow& row : rows) {
      Update(factors, row.missed_steps, {row.gradient, dim}, {row.weights, dim},
             {row.state, 2 * dim});
    }
  }

 private:
  AdamFactors FactorsOf(const StepContext& step) const {
    return kIsLazy ? SparseAdamFactorsOf(options_, step.learning_rate, step.step)
                   : AdamFactorsOf(options_, step.learning_rate, step.step);
  }

  void Update(AdamFactors factors, uint64_t missed_steps, std::span<const float> gradient,
              std::span<float> weights, std::span<float> state) const {
    if (!kIsLazy && missed_steps > 0) {
      factors.keep_mean = static_cast<float>(Power(double{options_.beta1}, missed_steps));
      factors.keep_square = static_cast<float>(Power(double{options_.beta2}, missed_steps));
    }
    const DecayedGradient decayed(options_.weight_decay, gradient, weights);
    AdamUpdate(factors, decayed.values(), weights, state.first(weights.size()),
               state.subspan(weights.size()));
  }

  const OptimizerOptions options_;
};

REGISTER_MEMBER(AddOptimizer<Adam<false>>("adam"));
REGISTER_MEMBER(AddOptimizer<Adam<true>>("lazy_adam"));

}  // namespace
}  // namespace rowhouse
