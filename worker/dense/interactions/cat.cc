// "cat": [t_0 | t_1 | ...], of any widths.
#include <algorithm>
#include <numeric>
#include <vector>

#include "worker/dense/interaction.h"

namespace rowhouse {
namespace {

class CatInteraction final : public Interaction {
 public:
  explicit CatInteraction(const InteractionOptions& options) : widths_(options.widths) {}

  uint32_t width() const override {
    return std::accumulate(widths_.begin(), widths_.end(), uint32_t{0});
  }

  void Forward(std::span<const float* const> vectors, size_t samples, float* z) override {
    CHECK_EQ(vectors.size(), widths_.size());
    for (size_t s = 0; s < samples; ++s) {
      for (size_t i = 0; i < widths_.size(); ++i) {
        z = std::copy_n(vectors[i] + s * widths_[i], widths_[i], z);
      }
    }
  }

  void Backward(const float* dz, size_t samples, std::span<float* const> gradients) override {
    CHECK_EQ(gradients.size(), widths_.size());
    for (size_t s = 0; s < samples; ++s) {
      for (size_t i = 0; i < widths_.size(); ++i) {
        std::copy_n(dz, widths_[i], gradients[i] + s * widths_[i]);
        dz += widths_[i];
      }
    }
  }

 private:
  const std::vector<uint32_t> widths_;
};

REGISTER_MEMBER(Interactions().Add<CatInteraction>("cat", InteractionDeclaration{
                                                              .takes_any_widths = true}));

}  // namespace
}  // namespace rowhouse
