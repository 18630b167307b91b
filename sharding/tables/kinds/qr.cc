// qr: quotient-remainder embedding (Shi et al., 2020): id = q * c + r is row q of a
// quotient table and row r of a remainder table, combined per id, before pooling, as the paper
// means it.
//   collisions (4)      c: rows of the remainder table; "sqrt": ceil(sqrt(rows)) (hpcaitech's)
//   operation (mult)    mult, add, or concat, which gives 2 x dim floats
//   pool_first (false)  pools quotients and remainders apart and combines the pooled vectors, as
//                       DLRM and hpcaitech do; the same for bags of one id
//   remainder (shards)  where the remainder table lives, which every lookup hits: shards, or
//                       workers (a dense, allreduced parameter); the model is the same to the bit
// The quotient of whole numbers, not DLRM's of floats, which is wrong from 2^24 on. Initial
// values are symmetric around 0, of the size sqrt(1/rows) that DLRM means; those of "normal" are
// Xavier's, as hpcaitech's.
#include <cmath>

#include "common/rounding.h"
#include "sharding/tables/table_kind.h"

namespace rowhouse {
namespace {

class QuotientRemainder final : public TableKind {
 public:
  static Result<std::unique_ptr<TableKind>> Make(const KindContext& context) {
    const LogicalTable& table = context.table;
    KindOptionReader options(table);
    const bool is_sqrt = options.Text("collisions", "4") == "sqrt";
    const uint64_t collisions = is_sqrt
                                    ? CeilSqrt(table.rows)
                                    : options.Whole("collisions", 4, 1, uint64_t{1} << 62, "sqrt");
    const Combine combine = CombineOf(options.Choice("operation", {"mult", "add", "concat"}));
    const bool pool_first = options.Bool("pool_first", false);
    const bool on_workers = options.Choice("remainder", {"shards", "workers"}) == "workers";
    RETURN_IF_ERROR(options.Finish());
    const uint64_t quotients = table.rows / collisions + (table.rows % collisions != 0 ? 1 : 0);
    auto kind = std::make_unique<QuotientRemainder>();
    kind->collisions_ = collisions;
    const uint32_t width = combine == Combine::kConcat ? 2 * table.dim : table.dim;
    kind->layout_ = {.tables = {MakePhysical(table, ".quotient", quotients, table.dim),
                                MakePhysical(table, ".remainder", collisions, table.dim)},
                     .parts = {0, 1},
                     .combine = combine,
                     .pool_first = pool_first,
                     .width = width,
                     .out_width = width};
    kind->layout_.tables[1].on_workers = on_workers;
    for (PhysicalTable& physical : kind->layout_.tables) {
      double& scale = physical.spec.initialiser_options.scale;
      if (scale == 0.0 && table.initialiser != "normal")
        scale = std::sqrt(1.0 / static_cast<double>(table.rows));
    }
    return Result<std::unique_ptr<TableKind>>(std::move(kind));
  }

  void Resolve(size_t part, std::span<const uint64_t> ids,
               std::span<uint64_t> rows) const override {
    for (size_t i = 0; i < ids.size(); ++i) {
      rows[i] = part == 0 ? ids[i] / collisions_ : ids[i] % collisions_;
    }
  }

 private:
  uint64_t collisions_ = 1;
};

std::vector<KindOptions> QrSizes(uint32_t /*dim*/, const KindOptions& of_model) {
  const auto given = of_model.find("collisions");
  const std::string first = given != of_model.end() ? given->second : "4";
  std::vector<KindOptions> asked = {{{"collisions", first}}};
  if (first != "sqrt") asked.push_back({{"collisions", "sqrt"}});
  return asked;
}

REGISTER_MEMBER(AddTableKind("qr",
                             {.options = {"collisions", "operation", "pool_first", "remainder"},
                              .outside_digest = {"remainder"},
                              .sizes_to_ask = &QrSizes},
                             &QuotientRemainder::Make));

}  // namespace
}  // namespace rowhouse
