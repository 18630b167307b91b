// FTRL-Proximal per coordinate (McMahan et al., KDD 2013, algorithm 1), a = learning_rate:
//   s = (sqrt(n + g*g) - sqrt(n)) / a;  z += g - s * w;  n += g*g
//   w = 0 if |z| <= l1, else -(z - sign(z) * l1) / ((beta + sqrt(n)) / a + l2).
//
// The state kept is n and q, from which z follows:  z = -((beta + sqrt(n)) / a + l2) * w - p  with
// p = l1 * sign(w), or q where w = 0. Put into the above, an update is a step from where the weight
// stands, with r = 1 / ((beta + sqrt(n)) / a + l2) for the new n:
//   w = soft(w + r * (p - g), r * l1), where soft(x, y) = sign(x) * max(|x| - y, 0).
// It is the same algorithm while the rate is constant, and better than z in two ways: every
// first weight is the one the initialiser gave (q = 0 is the z that reproduces it, for any rate),
// and a scheduled rate acts on the gradients to come, where z would rescale the past.
//
// State: q, then n, which starts at initial_accumulator. Lazy by nature: a gradient of zero changes
// nothing. weight_decay is refused: l2 is FTRL's own, and pulls to 0 in the same way.
#include <algorithm>

#include "common/kernels/row_updates.h"
#include "sharding/rows/optimizer.h"

namespace rowhouse {
namespace {

class Ftrl final : public OptimizerMember<Ftrl> {
 public:
  static constexpr OptimizerOptionMember kTakes[] = {&OptimizerOptions::initial_accumulator,
                                                     &OptimizerOptions::l1, &OptimizerOptions::l2,
                                                     &OptimizerOptions::beta};
  explicit Ftrl(const OptimizerOptions& options) : options_(options) {}

  size_t state_floats(size_t dim) const override { return 2 * dim; }
  void InitState(std::span<float> state) const override {
    const size_t dim = state.size() / 2;
    std::fill_n(state.begin(), dim, 0.0f);
    std::fill_n(state.begin() + static_cast<std::ptrdiff_t>(dim), dim,
                options_.initial_accumulator);
  }
  void Apply(const StepContext& step, std::span<const float> gradient, std::span<float> weights,
             std::span<float> state) const override {
    FtrlUpdate(
        {.rate = step.learning_rate, .beta = options_.beta, .l1 = options_.l1, .l2 = options_.l2},
        gradient, weights, state.first(weights.size()), state.subspan(weights.size()));
  }

 private:
  const OptimizerOptions options_;
};

REGISTER_MEMBER(AddOptimizer<Ftrl>("ftrl"));

}  // namespace
}  // namespace rowhouse
