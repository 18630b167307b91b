// SGD:  w -= learning_rate * g. weight_decay is L2.
#include "common/kernels/row_updates.h"
#include "worker/dense/dense_optimizer.h"

namespace rowhouse {
namespace {

class Sgd final : public DenseOptimizer {
 public:
  static constexpr OptimizerOptionMember kTakes[] = {&OptimizerOptions::weight_decay};
  explicit Sgd(const DenseOptimizerOptions& options) : DenseOptimizer(options) {}

  std::span<float> state() override { return {}; }

 private:
  void Update(float learning_rate, uint64_t, std::span<const float> gradients,
              std::span<float> parameters) override {
    SgdUpdate(learning_rate, Decayed(gradients, parameters), parameters);
  }
};

REGISTER_MEMBER(AddDenseOptimizer<Sgd>("sgd"));

}  // namespace
}  // namespace rowhouse
