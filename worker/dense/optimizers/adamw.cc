// AdamW (Loshchilov & Hutter, 2019), as torch's: Adam whose weight decay is no gradient,
//   w *= 1 - learning_rate * weight_decay, then Adam's step (sharding/rows/adam_factors.h).
//
// torch's default decay is 0.01; here it is what the options say (the settings say 0.01). Not for
// rows: every row decays in every step, also those that no step touches.
#include <vector>

#include "sharding/rows/adam_factors.h"
#include "worker/dense/dense_optimizer.h"

namespace rowhouse {
namespace {

class AdamW final : public DenseOptimizer {
 public:
  static constexpr OptimizerOptionMember kTakes[] = {
      &OptimizerOptions::epsilon, &OptimizerOptions::weight_decay, &OptimizerOptions::beta1,
      &OptimizerOptions::beta2};
  explicit AdamW(const DenseOptimizerOptions& options)
      : DenseOptimizer(options), moments_(2 * options.parameters, 0.0f) {}

  std::span<float> state() override { return moments_; }

 private:
  void Update(float learning_rate, uint64_t step, std::span<const float> gradients,
              std::span<float> parameters) override {
    AdamFactors factors = AdamFactorsOf(options(), learning_rate, step);
    factors.keep_weight =
        static_cast<float>(1.0 - double{learning_rate} * double{options().weight_decay});
    const std::span<float> moments(moments_);
    AdamUpdate(factors, gradients, parameters, moments.first(parameters.size()),
               moments.subspan(parameters.size()));
  }

  std::vector<float> moments_;  // all means, then all mean squares
};

REGISTER_MEMBER(AddDenseOptimizer<AdamW>("adamw", {}, {.weight_decay = 0.01f}));

}  // namespace
}  // namespace rowhouse
