// "dlrm": DLRM's own initial values, bit for bit. numpy draws all tables one after the other, row
// by row, from one generator: weight (r, c) = f32(low + (high - low) * u) in f64, high = sqrt(1/n)
// = -low, n = rows of the table, u = draw number first_draw + r * dim + c of the seed.
//
// Good for tables of DLRM's size: the last draw of a table is at most NumpyDraws::kMaxDraws.
#include <cmath>
#include <limits>
#include <optional>

#include "common/numpy_random.h"
#include "sharding/rows/initialiser.h"

namespace rowhouse {
namespace {

class DlrmInitialiser final : public Initialiser {
 public:
  static Result<std::unique_ptr<Initialiser>> Make(const InitialiserContext& context);

  Status Fill(std::span<const RowId> rows, std::span<float> out) const override;

 private:
  explicit DlrmInitialiser(const InitialiserContext& context)
      : draws_(context.draws),
        rows_(context.table.rows),
        dim_(context.table.dim),
        first_draw_(context.table.initialiser_options.first_draw),
        high_(std::sqrt(1.0 / static_cast<double>(context.table.rows))) {}

  const std::shared_ptr<const NumpyDraws> draws_;
  const uint64_t rows_;
  const uint64_t dim_;
  const uint64_t first_draw_;
  const double high_;
};

Result<std::unique_ptr<Initialiser>> DlrmInitialiser::Make(const InitialiserContext& context) {
  const TableSpec& table = context.table;
  CHECK(context.draws != nullptr);
  const uint64_t seed = table.initialiser_options.seed;
  if (seed > std::numeric_limits<uint32_t>::max()) {
    return UsageError(
        "table \"{}\": seed={} is above 2^32 - 1, the largest numpy takes. Choose a smaller one, "
        "or initialiser \"counter\"",
        table.name, seed);
  }
  const uint64_t first = table.initialiser_options.first_draw;
  // By division, because rows * dim may not fit into 64 bits.
  if (first > NumpyDraws::kMaxDraws || table.rows > (NumpyDraws::kMaxDraws - first) / table.dim) {
    return UsageError(
        "table \"{}\": initialiser \"dlrm\" reaches {} draws, and {} rows of {} columns after draw "
        "{} are more. Use initialiser \"counter\", which has no limit",
        table.name, NumpyDraws::kMaxDraws, table.rows, table.dim, first);
  }
  return std::unique_ptr<Initialiser>(new DlrmInitialiser(context));
}

Status DlrmInitialiser::Fill(std::span<const RowId> rows, std::span<float> out) const {
  CHECK_EQ(out.size(), rows.size() * dim_);
  std::optional<NumpyRandom> generator;
  uint64_t next_draw = 0;  // What the generator gives next.
  for (size_t i = 0; i < rows.size(); ++i) {
    CHECK_LT(Raw(rows[i]), rows_);
    const uint64_t draw = first_draw_ + Raw(rows[i]) * dim_;
    // Seeking copies the state kept before `draw` and walks from there; a generator that stands
    // after that state has less to walk.
    if (generator && next_draw <= draw && draw - next_draw <= draw % NumpyDraws::kStride) {
      generator->SkipDoubles(draw - next_draw);
    } else {
      generator = draws_->At(draw);
    }
    for (uint64_t c = 0; c < dim_; ++c) {
      out[i * dim_ + c] = static_cast<float>(generator->Uniform(-high_, high_));
    }
    next_draw = draw + dim_;
  }
  return OkStatus();
}

REGISTER_MEMBER(AddInitialiser("dlrm", {.draws_in_turn = true}, &DlrmInitialiser::Make));

}  // namespace
}  // namespace rowhouse
