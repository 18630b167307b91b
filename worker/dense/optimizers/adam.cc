// Adam (Kingma & Ba, 2015), as torch's (sharding/rows/adam_factors.h). weight_decay is L2: it is
// part of the gradient whose moments are taken; adamw has it apart. Epsilon's own value is 1e-8.
#include <vector>

#include "sharding/rows/adam_factors.h"
#include "worker/dense/dense_optimizer.h"

namespace rowhouse {
namespace {

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
    const std::span<float> moments(moments_);
    AdamUpdate(AdamFactorsOf(options(), learning_rate, step), Decayed(gradients, parameters),
               parameters, moments.first(parameters.size()), moments.subspan(parameters.size()));
  }

  std::vector<float> moments_;  // all means, then all mean squares
};

REGISTER_MEMBER(AddDenseOptimizer<Adam>("adam"));
REGISTER_MEMBER(AddDenseOptimizer<Adam>("lazy_adam"));

}  // namespace
}  // namespace rowhouse
