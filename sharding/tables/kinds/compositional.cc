// compositional: k complementary partitions (Shi et al., 2020, section 4; qr is k = 2): the digits
// of an id in base b, the least with b^k >= rows, are rows of k tables, combined per id before
// pooling. No two ids have the same digits; k tables of about rows^(1/k) rows hold all of them.
//   parts (3)           k: 2 to 8
//   operation (mult)    mult, add, or concat, which gives parts x dim floats
//   pool_first (false)  pools each part and combines the pooled vectors
#include <algorithm>
#include <cmath>

#include "sharding/tables/table_kind.h"

namespace rowhouse {
namespace {

class Compositional final : public TableKind {
 public:
  static Result<std::unique_ptr<TableKind>> Make(const KindContext& context) {
    const LogicalTable& table = context.table;
    KindOptionReader options(table);
    const auto parts = static_cast<uint32_t>(options.Whole("parts", 3, 2, 8));
    const Combine combine = CombineOf(options.Choice("operation", {"mult", "add", "concat"}));
    const bool pool_first = options.Bool("pool_first", false);
    RETURN_IF_ERROR(options.Finish());
    auto kind = std::make_unique<Compositional>();
    kind->base_ = LeastBase(table.rows, parts);
    const uint32_t width = combine == Combine::kConcat ? parts * table.dim : table.dim;
    kind->layout_ = {
        .combine = combine, .pool_first = pool_first, .width = width, .out_width = width};
    uint64_t left = table.rows;  // Values that the digits from this one on can have.
    for (uint32_t part = 0; part < parts; ++part) {
      const uint64_t rows = part + 1 < parts ? std::min(kind->base_, left) : left;
      left = left / kind->base_ + (left % kind->base_ != 0 ? 1 : 0);
      kind->layout_.tables.push_back(
          MakePhysical(table, fmt::format(".digit{}", part), rows, table.dim));
      kind->layout_.parts.push_back(part);
      kind->divisors_.push_back(part == 0 ? 1 : kind->divisors_.back() * kind->base_);
    }
    return Result<std::unique_ptr<TableKind>>(std::move(kind));
  }

  void Resolve(size_t part, std::span<const uint64_t> ids,
               std::span<uint64_t> rows) const override {
    const bool is_last = part + 1 == divisors_.size();
    for (size_t i = 0; i < ids.size(); ++i) {
      const uint64_t digits = ids[i] / divisors_[part];
      rows[i] = is_last ? digits : digits % base_;
    }
  }

 private:
  static bool Reaches(uint64_t base, uint32_t parts, uint64_t rows) {
    unsigned __int128 power = 1;
    for (uint32_t part = 0; part < parts && power < rows; ++part) power *= base;
    return power >= rows;
  }

  static uint64_t LeastBase(uint64_t rows, uint32_t parts) {
    auto base = static_cast<uint64_t>(std::pow(static_cast<double>(rows), 1.0 / parts));
    while (!Reaches(base, parts, rows)) ++base;
    while (base > 2 && Reaches(base - 1, parts, rows)) --base;
    return std::max<uint64_t>(base, 2);
  }

  uint64_t base_ = 2;
  std::vector<uint64_t> divisors_;  // base^part
};

REGISTER_MEMBER(AddTableKind("compositional", {.options = {"parts", "operation", "pool_first"}},
                             &Compositional::Make));

}  // namespace
}  // namespace rowhouse
