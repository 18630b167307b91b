// "staircase": the base rate, halved every stair_steps steps.
#include <cmath>

#include "worker/dense/lr_policy.h"

namespace rowhouse {
namespace {

const DeclaredOption kSteps =
    DeclaredOption::Whole("stair_steps", 100, 1, kMaxLrSteps, "steps between two halvings");

class Staircase final : public LrPolicy {
 public:
  explicit Staircase(const LrPolicyOptions& options)
      : base_(options.base), steps_(kSteps.WholeIn(options.own)) {}

  double Rate(uint64_t step) const override {
    return std::ldexp(base_, -static_cast<int>(step / steps_));
  }

 private:
  const double base_;
  const uint64_t steps_;
};

REGISTER_MEMBER(LrPolicies().Add<Staircase>("staircase", {kSteps}));

}  // namespace
}  // namespace rowhouse
