// "normal": N(0, s^2), s = the option scale or else Xavier's sqrt(2 / (rows + dim)) (Glorot and
// Bengio, 2010; hpcaitech's initial values of block and QR tables). Every weight is a function of
// (seed, table name, row, column) alone.
//
//   key       = MixKey(XXH3_64bits(seed = seed of the table, table name), row)
//   weight(c) = f32(s * ToNormal(MixBits(key, 2c), MixBits(key, 2c + 1)))
//
// ToNormal uses the C library's log and cos: hosts of one run should have the same one, as they
// should have the same CPU.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cmath>

#include "common/random.h"
#include "sharding/rows/initialiser.h"

namespace rowhouse {
namespace {

class NormalInitialiser final : public Initialiser {
 public:
  explicit NormalInitialiser(const InitialiserContext& context)
      : dim_(context.table.dim),
        rows_(context.table.rows),
        table_key_(XXH3_64bits_withSeed(context.table.name.data(), context.table.name.size(),
                                        context.table.initialiser_options.seed)),
        deviation_(DeviationOf(context.table)) {}

  Status Fill(std::span<const RowId> rows, std::span<float> out) const override {
    CHECK_EQ(out.size(), rows.size() * dim_);
    for (size_t i = 0; i < rows.size(); ++i) {
      CHECK_LT(Raw(rows[i]), rows_);
      const uint64_t key = MixKey(table_key_, Raw(rows[i]));
      for (size_t c = 0; c < dim_; ++c) {
        out[i * dim_ + c] =
            static_cast<float>(deviation_ * ToNormal(MixBits(key, 2 * c), MixBits(key, 2 * c + 1)));
      }
    }
    return OkStatus();
  }

 private:
  static double DeviationOf(const TableSpec& table) {
    const double scale = table.initialiser_options.scale;
    return scale > 0.0 ? scale
                       : std::sqrt(2.0 / (static_cast<double>(table.rows) +
                                          static_cast<double>(table.dim)));
  }

  const size_t dim_;
  const uint64_t rows_;
  const uint64_t table_key_;
  const double deviation_;
};

REGISTER_MEMBER(AddInitialiser<NormalInitialiser>("normal", {.takes = {"initial_scale"}}));

}  // namespace
}  // namespace rowhouse
