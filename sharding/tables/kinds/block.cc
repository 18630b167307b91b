// block: narrow rows, and one projection to the full width (hpcaitech's BlockEmbeddingBag):
// y = pool(W[ids]) P^T, pooled first and projected once, so that mean and max are those of the
// rows. P is a dense parameter of the workers, without bias; absent where the rows have full width.
//   block_dim (64, or dim if less)  floats of a row, 1 to dim
#include <algorithm>

#include "sharding/tables/table_kind.h"

namespace rowhouse {
namespace {

constexpr uint32_t kDefaultWidth = 64;

class Block final : public TableKind {
 public:
  static Result<std::unique_ptr<TableKind>> Make(const KindContext& context) {
    const LogicalTable& table = context.table;
    KindOptionReader options(table);
    const auto width = static_cast<uint32_t>(
        options.Whole("block_dim", std::min<uint64_t>(kDefaultWidth, table.dim), 1, table.dim));
    RETURN_IF_ERROR(options.Finish());
    auto kind = std::make_unique<Block>();
    kind->layout_ = {.tables = {MakePhysical(table, "", table.rows, width)},
                     .parts = {0},
                     .width = width,
                     .out_width = table.dim,
                     .projects = width != table.dim};
    return Result<std::unique_ptr<TableKind>>(std::move(kind));
  }
};

// Rows of full width save nothing: where the default has them, a quarter of the width.
std::vector<KindOptions> BlockSizes(uint32_t dim, const KindOptions& of_model) {
  const auto given = of_model.find("block_dim");
  const uint32_t width = dim > kDefaultWidth ? kDefaultWidth : std::max(1u, dim / 4);
  return {{{"block_dim", given != of_model.end() ? given->second : fmt::format("{}", width)}}};
}

REGISTER_MEMBER(AddTableKind(
    "block", {.options = {"block_dim"}, .width_option = "block_dim", .sizes_to_ask = &BlockSizes},
    &Block::Make));

}  // namespace
}  // namespace rowhouse
