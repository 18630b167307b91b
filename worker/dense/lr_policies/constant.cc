// rate = base, always.
#include "worker/dense/lr_policy.h"

namespace rowhouse {
namespace {

class Constant final : public LrPolicy {
 public:
  explicit Constant(const LrPolicyOptions& options) : base_(options.base) {}
  double Rate(uint64_t) const override { return base_; }

 private:
  const double base_;
};

// A schedule that would be ignored is a mistake somebody finds out after the training.
Result<std::unique_ptr<LrPolicy>> MakeConstant(const LrPolicyOptions& options) {
  if (options.warmup_steps > 0 || options.decay_start_step > 0 || options.decay_steps > 0) {
    return UsageError(
        "lr_policy=constant has no schedule, but lr_num_warmup_steps={}, lr_decay_start_step={}, "
        "lr_num_decay_steps={}; leave them at 0, or give --lr_policy=poly2",
        options.warmup_steps, options.decay_start_step, options.decay_steps);
  }
  return std::unique_ptr<LrPolicy>(std::make_unique<Constant>(options));
}

REGISTER_MEMBER(LrPolicies().Add("constant", MakeConstant));

}  // namespace
}  // namespace rowhouse
