// Adagrad (Duchi et al., 2011):  s += g * g;  w -= learning_rate * (g / (sqrt(s) + epsilon)).
//
// Its own epsilon is 1e-10. learning_rate_decay divides the rate by 1 + step * decay; weight_decay
// is L2, inside the square too. All as torch's.
#include <vector>

#include "common/kernels/row_updates.h"
#include "worker/dense/dense_optimizer.h"

namespace rowhouse {
namespace {

class Adagrad final : public DenseOptimizer {
 public:
  static constexpr OptimizerOptionMember kTakes[] = {
      &OptimizerOptions::epsilon, &OptimizerOptions::initial_accumulator,
      &OptimizerOptions::learning_rate_decay, &OptimizerOptions::weight_decay};
  explicit Adagrad(const DenseOptimizerOptions& options)
      : DenseOptimizer(options), sums_(options.parameters, options.options.initial_accumulator) {}

  std::span<float> state() override { return sums_; }

 private:
  void Update(float learning_rate, uint64_t step, std::span<const float> gradients,
              std::span<float> parameters) override {
    AdagradUpdate(options().decayed_rate(learning_rate, step), options().epsilon_or(1e-10f),
                  Decayed(gradients, parameters), parameters, sums_);
  }

  std::vector<float> sums_;  // of squared gradients
};

REGISTER_MEMBER(AddDenseOptimizer<Adagrad>("adagrad"));
REGISTER_MEMBER(AddDenseOptimizer<Adagrad>("rowwise_adagrad"));
REGISTER_MEMBER(AddDenseOptimizer<Adagrad>("ftrl"));

}  // namespace
}  // namespace rowhouse
