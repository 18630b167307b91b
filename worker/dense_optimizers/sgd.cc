// SGD:  w -= learning_rate * g.
#include "common/kernels/row_updates.h"
#include "worker/dense_optimizer.h"

namespace rowhouse {
namespace {

class Sgd final : public DenseOptimizer {
 public:
  explicit Sgd(const DenseOptimizerOptions& options) : parameters_(options.parameters) {}

  void Apply(float learning_rate, std::span<const float> gradients,
             std::span<float> parameters) override {
    CHECK_EQ(gradients.size(), parameters_);
    CHECK_EQ(parameters.size(), parameters_);
    SgdUpdate(learning_rate, gradients, parameters);
  }

  std::span<float> state() override { return {}; }

 private:
  const size_t parameters_;
};

const bool kRegistered = DenseOptimizers().Add<Sgd>("sgd");

}  // namespace
}  // namespace rowhouse
