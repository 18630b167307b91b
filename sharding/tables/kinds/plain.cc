// plain: id i is row i.
//   share (the table's own name): name of the physical table; tables with the same one are one.
#include <algorithm>

#include "sharding/tables/table_kind.h"

namespace rowhouse {
namespace {

class Plain final : public TableKind {
 public:
  static Result<std::unique_ptr<TableKind>> Make(const KindContext& context) {
    KindOptionReader options(context.table);
    const std::string name = options.TableName("share", context.table.name);
    RETURN_IF_ERROR(options.Finish());
    auto kind = std::make_unique<Plain>();
    const LogicalTable& table = context.table;
    PhysicalTable physical = MakePhysical(table, "", table.rows, table.dim);
    physical.spec.name = name;
    kind->layout_ = {
        .tables = {physical}, .parts = {0}, .width = table.dim, .out_width = table.dim};
    return Result<std::unique_ptr<TableKind>>(std::move(kind));
  }
};

REGISTER_MEMBER(AddTableKind("plain", {.options = {"share"}, .has_row_for_each_id = true},
                             &Plain::Make));

}  // namespace
}  // namespace rowhouse
