// LrPolicy: the learning rate of a step, for rows and the dense part alike. A pure function of the
// step, which is counted over all runs of a model, so nothing of it is saved.
//
// Words of all policies, after DLRM's LRPolicyScheduler (dlrm_s_pytorch.py): base rate, W warm-up
// steps, S decay start, N decay steps, s = step + 1 = 1, 2, ...; W = 0: no warm-up, N = 0: no
// decay. Computed in float64 with + - * / alone, so bits are the same everywhere. Threads:
// immutable. To add one, write worker/dense/lr_policies/<name>.cc; it registers itself here.
#pragma once

#include <cstdint>

#include "common/registry.h"

namespace rowhouse {

// Above it a float64 cannot tell steps apart.
inline constexpr uint64_t kMaxLrSteps = uint64_t{1} << 48;

struct LrPolicyOptions {
  double base = 0.01;             // [0, inf)
  uint64_t warmup_steps = 0;      // W; it and the others at most kMaxLrSteps
  uint64_t decay_start_step = 0;  // S
  uint64_t decay_steps = 0;       // N
  OptionValues own = {};          // of options that the policy declares itself
};

class LrPolicy {
 public:
  virtual ~LrPolicy() = default;

  // The rate of step 0, 1, ...; in (0, base] if base > 0, and 0 if it is 0.
  virtual double Rate(uint64_t step) const = 0;
};

// Making one is kUsage if the options contradict each other.
Registry<LrPolicy, LrPolicyOptions>& LrPolicies();

// ---- What policies share --------------------------------------------------------------------

// base * (1 - (W - s) / W), which is base * s / W. Requires 1 <= s <= W.
double WarmingUpRate(const LrPolicyOptions& options, uint64_t s);

// max(floor, base * ((N - (s - S)) / N)^2), floor = min(1e-7, base); DLRM's floor is 1e-7 for any
// base and so raises smaller ones. Requires N > 0 and S <= s <= S + N.
double DecayingRate(const LrPolicyOptions& options, uint64_t s);

// kUsage unless S >= W, even if there is no decay, as in DLRM.
Status CheckWarmupEndsBeforeDecay(const LrPolicyOptions& options);

}  // namespace rowhouse
