// "constant": every weight is InitialiserOptions::value, rounded to f32.
#include <algorithm>
#include <cmath>
#include <limits>

#include "sharding/rows/initialiser.h"

namespace rowhouse {
namespace {

class ConstantInitialiser final : public Initialiser {
 public:
  static Result<std::unique_ptr<Initialiser>> Make(const InitialiserContext& context) {
    const double value = context.table.initialiser_options.value;
    if (!(std::fabs(value) <= std::numeric_limits<float>::max())) {
      return UsageError("table \"{}\": initialiser \"constant\" with {}, which is no 32-bit float",
                        context.table.name, value);
    }
    return std::unique_ptr<Initialiser>(new ConstantInitialiser(context.table));
  }

  Status Fill(std::span<const RowId> rows, std::span<float> out) const override {
    CHECK_EQ(out.size(), rows.size() * dim_);
    for (const RowId row : rows) CHECK_LT(Raw(row), rows_);
    std::fill(out.begin(), out.end(), value_);
    return OkStatus();
  }

 private:
  explicit ConstantInitialiser(const TableSpec& table)
      : dim_(table.dim),
        rows_(table.rows),
        value_(static_cast<float>(table.initialiser_options.value)) {}

  const size_t dim_;
  const uint64_t rows_;
  const float value_;
};

REGISTER_MEMBER(AddInitialiser("constant", {.takes = {"initial_value"}},
                               &ConstantInitialiser::Make));

}  // namespace
}  // namespace rowhouse
