// Adagrad (Duchi et al., 2011):  s += g * g;  w -= learning_rate * (g / (sqrt(s) + epsilon)).
#include <vector>

#include "common/kernels/row_updates.h"
#include "worker/dense_optimizer.h"

namespace rowhouse {
namespace {

class Adagrad final : public DenseOptimizer {
 public:
  explicit Adagrad(const DenseOptimizerOptions& options)
      : epsilon_(options.epsilon), sums_(options.parameters, options.initial_accumulator) {}

  void Apply(float learning_rate, std::span<const float> gradients,
             std::span<float> parameters) override {
    CHECK_EQ(gradients.size(), sums_.size());
    CHECK_EQ(parameters.size(), sums_.size());
    AdagradUpdate(learning_rate, epsilon_, gradients, parameters, sums_);
  }

  std::span<float> state() override { return sums_; }

 private:
  const float epsilon_;
  std::vector<float> sums_;  // of squared gradients
};

const bool kAdagrad = DenseOptimizers().Add<Adagrad>("adagrad");
const bool kRowwise = DenseOptimizers().Add<Adagrad>("rowwise_adagrad");

}  // namespace
}  // namespace rowhouse
