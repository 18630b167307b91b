#include "worker/dense/lr_policy.h"

#include <algorithm>

namespace rowhouse {
namespace {

constexpr double kMinRateOfDecay = 1e-7;

}  // namespace

Registry<LrPolicy, LrPolicyOptions>& LrPolicies() {
  static Registry<LrPolicy, LrPolicyOptions> registry("learning-rate policy");
  return registry;
}

double WarmingUpRate(const LrPolicyOptions& options, uint64_t s) {
  CHECK_LE(s, options.warmup_steps);
  const auto w = static_cast<double>(options.warmup_steps);
  return options.base * (1.0 - static_cast<double>(options.warmup_steps - s) / w);
}

double DecayingRate(const LrPolicyOptions& options, uint64_t s) {
  const uint64_t decayed = s - options.decay_start_step;
  CHECK_LE(decayed, options.decay_steps);
  const double left =
      static_cast<double>(options.decay_steps - decayed) / static_cast<double>(options.decay_steps);
  return std::max(std::min(kMinRateOfDecay, options.base), options.base * (left * left));
}

Status CheckWarmupEndsBeforeDecay(const LrPolicyOptions& options) {
  if (options.decay_start_step >= options.warmup_steps) return OkStatus();
  return UsageError(
      "lr_num_warmup_steps={} is greater than lr_decay_start_step={}, but warm-up must finish "
      "before decay starts{}; give --lr_decay_start_step={} or more, or fewer warm-up steps",
      options.warmup_steps, options.decay_start_step,
      options.decay_steps == 0 ? " (as in DLRM, without decay steps too)" : "",
      options.warmup_steps);
}

}  // namespace rowhouse
