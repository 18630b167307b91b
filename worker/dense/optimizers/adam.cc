// Adam (Kingma & Ba, 2015) and AdamW (Loshchilov & Hutter, 2019), as torch's
// (sharding/rows/adam_factors.h). Epsilon's own value is 1e-8.
//
// adam's weight_decay is L2: it is part of the gradient whose moments are taken. adamw's is no
// gradient: w *= 1 - learning_rate * weight_decay, then Adam's step. torch's default decay is 0.01;
// here it is what the options say (the settings say 0.01). adamw is not for rows: every row decays
// in every step, also those that no step touches.
#include <vector>

#include "sharding/rows/adam_factors.h"
#include "worker/dense/dense_optimizer.h"

namespace rowhouse {
namespace {

template <bool kDecaysApart>
class Adam final : public DenseOptimizer {
 public:
  static constexpr OptimizerOptionMember kTakes[] = {
      &OptimizerOptions::epsilon, &OptimizerOptions::weight_decay, &OptimizerOptions::beta1,
      &OptimizerOptions::beta2};
  explicit Adam(const DenseOptimizerOptions& options)
      : DenseOptimizer(options), moments_(2 * options.parameters, 0.0f) {}

  std::span<float> state() override { return moments_; }

 private:
  void Update(float learning_rate, uint64_t step, std::span<const float> gradients,
              std::span<float> parameters) override {
    AdamFactors factors = AdamFactorsOf(options(), learning_rate, step);
    if (kDecaysApart) {
      factors.keep_weight =
          static_cast<float>(1.0 - double{learning_rate} * double{options().weight_decay});
    } else {
      gradients = Decayed(gradients, parameters);
    }
    const std::span<float> moments(moments_);
    AdamUpdate(factors, gradients, parameters, moments.first(parameters.size()),
               moments.subspan(parameters.size()));
  }

  std::vector<float> moments_;  // all means, then all mean squares
};

REGISTER_MEMBER(AddDenseOptimizer<Adam<false>>("adam"));
REGISTER_MEMBER(AddDenseOptimizer<Adam<false>>("lazy_adam"));
REGISTER_MEMBER(AddDenseOptimizer<Adam<true>>("adamw", {}, {.weight_decay = 0.01f}));

}  // namespace
}  // namespace rowhouse
