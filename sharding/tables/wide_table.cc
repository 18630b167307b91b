#include "sharding/tables/wide_table.h"

#include <utility>

namespace rowhouse {
namespace {

constexpr const char* kSuffix = ".wide";

class WideKind final : public TableKind {
 public:
  WideKind(std::shared_ptr<const TableKind> kind, const LogicalTable& wide)
      : kind_(std::move(kind)) {
    const KindLayout& rows = kind_->layout();
    layout_.parts = rows.parts;
    layout_.pool_first = true;  // sums of sums: so shards may pool them
    layout_.width = layout_.out_width = 1;
    for (const PhysicalTable& table : rows.tables) {
      PhysicalTable& weights =
          layout_.tables.emplace_back(MakePhysical(wide, "", table.spec.rows, 1));
      weights.spec.name = table.spec.name + kSuffix;
      weights.on_workers = table.on_workers;
    }
    for (const IdGroup& group : rows.groups) {
      layout_.groups.push_back(
          {.first_part = group.first_part, .parts = group.parts, .width = 1, .projection = {}});
    }
  }

  void Assign(std::span<const uint64_t> ids, std::span<uint32_t> groups) const override {
    kind_->Assign(ids, groups);
  }
  void Resolve(size_t part, std::span<const uint64_t> ids,
               std::span<uint64_t> rows) const override {
    kind_->Resolve(part, ids, rows);
  }

 private:
  const std::shared_ptr<const TableKind> kind_;
};

}  // namespace

LogicalTable WideTableOf(const LogicalTable& table) {
  LogicalTable wide = table;
  wide.name += kSuffix;
  wide.dim = 1;
  wide.initialiser = "constant";
  wide.initialiser_options = {.value = 0.0};
  wide.precision = TableSpec().precision;
  wide.max_norm = TableSpec().max_norm;
  wide.norm_type = TableSpec().norm_type;
  wide.weighted_pooling = LogicalTable().weighted_pooling;
  if (wide.pooling == "max") {
    wide.pooling = LogicalTable().pooling;
    wide.pooling_sum = "exact";  // a max of bags may be split over shards, and so may this sum
  }
  return wide;
}

std::shared_ptr<const TableKind> WideKindOf(std::shared_ptr<const TableKind> kind,
                                            const LogicalTable& wide) {
  return std::make_shared<WideKind>(std::move(kind), wide);
}

}  // namespace rowhouse
