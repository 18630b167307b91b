// poly2: DLRM's schedule (LRPolicyScheduler in dlrm_s_pytorch.py), number for number:
//   s < W:           base * (1 - (W - s) / W)
//   S <= s < S + N:  max(floor, base * ((N - (s - S)) / N)^2)
//   else:            N > 0: the rate of the step before; N = 0: base.
// So with decay the rate stays at base * (W - 1) / W from W on, jumps to base at S, and after the
// decay stays at its last value. Without warm-up and decay it is base throughout.
// Where DLRM fails, because no step came before (W <= 1 and S > 1, with decay): base until S.
//
// poly2_smooth: the same without its plateau below base, its jump, and its last value above the
// floor: base for W <= s < S, and later if N = 0; the floor from S + N on.
#include "worker/dense/lr_policy.h"

namespace rowhouse {
namespace {

template <bool kIsSmooth>
class Poly2 final : public LrPolicy {
 public:
  explicit Poly2(const LrPolicyOptions& options) : options_(options) {}

  double Rate(uint64_t step) const override {
    const uint64_t s = step + 1;
    const auto& [base, w, start, n, own] = options_;
    if (s < w) return WarmingUpRate(options_, s);
    if (n == 0) return base;
    if (s < start) return w > 1 && !kIsSmooth ? WarmingUpRate(options_, w - 1) : base;
    return DecayingRate(options_, s - start < n ? s : start + (kIsSmooth ? n : n - 1));
  }

 private:
  const LrPolicyOptions options_;
};

template <bool kIsSmooth>
Result<std::unique_ptr<LrPolicy>> MakePoly2(const LrPolicyOptions& options) {
  RETURN_IF_ERROR(CheckWarmupEndsBeforeDecay(options));
  return std::unique_ptr<LrPolicy>(std::make_unique<Poly2<kIsSmooth>>(options));
}

REGISTER_MEMBER(LrPolicies().Add("poly2", MakePoly2<false>));
REGISTER_MEMBER(LrPolicies().Add("poly2_smooth", MakePoly2<true>));

}  // namespace
}  // namespace rowhouse
