// "cat": [t_0 | t_1 | ...], of any widths.
#include <glog/logging.h>

#include <vector>

#include "worker/dense/interaction.h"

namespace rowhouse {
namespace {

class CatInteraction final : public Interaction {
 public:
  explicit CatInteraction(const InteractionOptions& options) : widths_(options.widths) {}

  uint32_t width() const override { return StackedWidth(widths_); }

  void Forward(std::span<const float* const> vectors, size_t samples, float* z) override {
    CHECK_EQ(vectors.size(), widths_.size());
    Stack(vectors, widths_, samples, z);
  }

  void Backward(const float* dz, size_t samples, std::span<float* const> gradients) override {
    CHECK_EQ(gradients.size(), widths_.size());
    Unstack(dz, widths_, samples, gradients);
  }

 private:
  const std::vector<uint32_t> widths_;
};

REGISTER_MEMBER(Interactions().Add<CatInteraction>("cat", InteractionDeclaration{
                                                              .takes_any_widths = true}));

}  // namespace
}  // namespace rowhouse
