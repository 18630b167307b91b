// "ramp": weight (row, column) = ramp_step * ((row + column) mod 7 - 3).
#include "sharding/rows/initialiser.h"

namespace rowhouse {
namespace {

const DeclaredOption kStep =
    DeclaredOption::Real("ramp_step", 0.125, 0.0, 1.0, "between two neighbours of the ramp");

class Ramp final : public Initialiser {
 public:
  explicit Ramp(const InitialiserContext& context)
      : dim_(context.table.dim), step_(static_cast<float>(kStep.RealIn(context.own_options()))) {}

  Status Fill(std::span<const RowId> rows, std::span<float> out) const override {
    for (size_t i = 0; i < rows.size(); ++i) {
      for (size_t c = 0; c < dim_; ++c) {
        const auto place = static_cast<int>((Raw(rows[i]) + c) % 7);
        out[i * dim_ + c] = step_ * static_cast<float>(place - 3);
      }
    }
    return OkStatus();
  }

 private:
  const size_t dim_;
  const float step_;
};

REGISTER_MEMBER(AddInitialiser<Ramp>("ramp", {}, {kStep}));

}  // namespace
}  // namespace rowhouse
