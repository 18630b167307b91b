// poly2 without its plateau below base, its jump, and its last value above the floor:
//   s < W:       base * (1 - (W - s) / W)
//   W <= s < S:  base;   also later if N = 0
//   S <= s:      max(floor, base * ((N - (s - S)) / N)^2), the floor from S + N on.
#include "worker/dense/lr_policy.h"

namespace rowhouse {
namespace {

class Poly2Smooth final : public LrPolicy {
 public:
  explicit Poly2Smooth(const LrPolicyOptions& options) : options_(options) {}

  double Rate(uint64_t step) const override {
    const uint64_t s = step + 1;
    const auto& [base, w, start, n, own] = options_;
    if (s < w) return WarmingUpRate(options_, s);
    if (n == 0 || s < start) return base;
    return DecayingRate(options_, s - start < n ? s : start + n);
  }

 private:
  const LrPolicyOptions options_;
};

Result<std::unique_ptr<LrPolicy>> MakePoly2Smooth(const LrPolicyOptions& options) {
  RETURN_IF_ERROR(CheckWarmupEndsBeforeDecay(options));
  return std::unique_ptr<LrPolicy>(std::make_unique<Poly2Smooth>(options));
}

REGISTER_MEMBER(LrPolicies().Add("poly2_smooth", MakePoly2Smooth));

}  // namespace
}  // namespace rowhouse
