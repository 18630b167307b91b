// "folded": `fold` ids that follow each other are one row, so a table takes rows / fold.
//   fold (2)  1 to 1000; 2 and 4 are what rowhouse plan --sizes asks for
#include "sharding/tables/table_kind.h"

namespace rowhouse {
namespace {

class Folded final : public TableKind {
 public:
  static Result<std::unique_ptr<TableKind>> Make(const KindContext& context) {
    const LogicalTable& table = context.table;
    KindOptionReader options(table);
    auto kind = std::make_unique<Folded>();
    kind->fold_ = options.Whole("fold", 2, 1, 1000);
    RETURN_IF_ERROR(options.Finish());
    const uint64_t rows = (table.rows + kind->fold_ - 1) / kind->fold_;
    kind->layout_ = {.tables = {MakePhysical(table, "", rows, table.dim)},
                     .parts = {0},
                     .width = table.dim,
                     .out_width = table.dim};
    return Result<std::unique_ptr<TableKind>>(std::move(kind));
  }

  void Resolve(size_t, std::span<const uint64_t> ids, std::span<uint64_t> rows) const override {
    for (size_t i = 0; i < ids.size(); ++i) rows[i] = ids[i] / fold_;
  }

 private:
  uint64_t fold_ = 2;
};

std::vector<KindOptions> SizesToAsk(uint32_t, const KindOptions&) {
  return {{{"fold", "2"}}, {{"fold", "4"}}};
}

REGISTER_MEMBER(AddTableKind("folded", {.options = {"fold"}, .sizes_to_ask = &SizesToAsk},
                             &Folded::Make));

}  // namespace
}  // namespace rowhouse
