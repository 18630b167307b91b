// Stochastic gradient descent:  w -= learning_rate * g.
//
// weight_decay is L2 (DecayedGradient).
#include "common/kernels/row_updates.h"
#include "sharding/rows/optimizer.h"

namespace rowhouse {
namespace {

class Sgd final : public OptimizerMember<Sgd> {
 public:
  static constexpr OptimizerOptionMember kTakes[] = {&OptimizerOptions::weight_decay};
  explicit Sgd(const OptimizerOptions& options) : options_(options) {}

  size_t state_floats(size_t) const override { return 0; }
  void Apply(const StepContext& step, std::span<const float> gradient, std::span<float> weights,
             std::span<float> state) const override {
    CHECK(state.empty());
    const DecayedGradient decayed(options_.weight_decay, gradient, weights);
    SgdUpdate(step.learning_rate, decayed.values(), weights);
  }
  void ApplyAll(const StepContext& step, size_t dim,
                std::span<const UpdatedRow> rows) const override {
    if (options_.weight_decay != 0.0f) return OptimizerMember::ApplyAll(step, dim, rows);
    SgdUpdate(step.learning_rate, dim, rows);
  }

 private:
  const OptimizerOptions options_;
};

REGISTER_MEMBER(AddOptimizer<Sgd>("sgd", {}, {.has_epsilon_in_digest = true}));

}  // namespace
}  // namespace rowhouse
