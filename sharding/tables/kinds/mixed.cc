// mixed: the larger the table, the narrower its rows (Ginart et al., 2019; DLRM's --md-flag),
// then a projection without bias to the model's width. The dims follow from the sizes of all mixed
// tables of the model: the smallest keeps the full dim.
//   temperature (0.3)   0: all keep the full dim; the same for all mixed tables of a model
//   round_dims (false)  to powers of two; never above the full dim; the same for all, too
//   full_dim_rows       rows of a table that would keep the full dim, where that is not the
//                       smallest mixed table; the same for all, too. --md-flag gives the smallest
//                       of all tables, as DLRM's rule has it
//   lookups (1)         mean lookups in a bag: a table that is asked more often gets wider rows
//   row_dim (the rule)  floats of a row, by hand
#include <algorithm>

#include "sharding/tables/mixed_dimensions.h"
#include "sharding/tables/table_kind.h"

namespace rowhouse {
namespace {

struct MixedOptions {
  double temperature = 0.3;
  bool round_dims = false;
  uint64_t full_dim_rows = 0;  // 0: of the smallest mixed table
  double lookups = 1.0;
  uint32_t row_dim = 0;  // 0: by the rule

  bool SharesRuleWith(const MixedOptions& other) const {
    return temperature == other.temperature && round_dims == other.round_dims &&
           full_dim_rows == other.full_dim_rows;
  }
};

Result<MixedOptions> ReadMixedOptions(const LogicalTable& table) {
  KindOptionReader options(table);
  MixedOptions mixed;
  mixed.temperature = options.Real("temperature", 0.3, 0.0, 10.0);
  mixed.round_dims = options.Bool("round_dims", false);
  mixed.full_dim_rows = options.Whole("full_dim_rows", 0, 1, uint64_t{1} << 63);
  mixed.lookups = options.Real("lookups", 1.0, 1e-3, 1e9);
  mixed.row_dim = static_cast<uint32_t>(options.Whole("row_dim", 0, 1, table.dim));
  RETURN_IF_ERROR(options.Finish());
  return mixed;
}

class Mixed final : public TableKind {
 public:
  static Result<std::unique_ptr<TableKind>> Make(const KindContext& context) {
    const LogicalTable& table = context.table;
    ASSIGN_OR_RETURN(const MixedOptions mine, ReadMixedOptions(table));
    uint32_t width = mine.row_dim;
    if (width == 0) {
      ASSIGN_OR_RETURN(width, DimByRule(context, mine));
    }
    auto kind = std::make_unique<Mixed>();
    kind->layout_ = {.tables = {MakePhysical(table, "", table.rows, width)},
                     .parts = {0},
                     .width = width,
                     .out_width = table.dim,
                     .projects = width != table.dim,
                     .projection_initialiser = "xavier_uniform"};
    return Result<std::unique_ptr<TableKind>>(std::move(kind));
  }

 private:
  static Result<uint32_t> DimByRule(const KindContext& context, const MixedOptions& mine) {
    std::vector<uint64_t> rows;
    std::vector<double> lookups;
    size_t place = 0;
    for (const LogicalTable& other : context.model) {
      if (other.kind != "mixed") continue;
      ASSIGN_OR_RETURN(const MixedOptions options, ReadMixedOptions(other));
      if (!options.SharesRuleWith(mine) || other.dim != context.table.dim) {
        return UsageError(
            "tables \"{}\" and \"{}\": all mixed tables of a model share dim, temperature, "
            "round_dims and full_dim_rows, because each one's width follows from the sizes of all",
            context.table.name, other.name);
      }
      if (other.name == context.table.name) place = rows.size();
      rows.push_back(other.rows);
      lookups.push_back(options.lookups);
    }
    if (mine.full_dim_rows != 0) {  // as if there were such a table, and first of its size
      rows.insert(rows.begin(), mine.full_dim_rows);
      lookups.insert(lookups.begin(), 1.0);
      ++place;
    }
    const std::vector<uint32_t> dims = MixedDimensions(rows, {.temperature = mine.temperature,
                                                              .base_dim = context.table.dim,
                                                              .round_to_power = mine.round_dims,
                                                              .lookups = lookups});
    return std::min(dims[place], context.table.dim);
  }
};

std::vector<KindOptions> MixedSizes(uint32_t dim, const KindOptions& of_model) {
  const auto given = of_model.find("row_dim");
  return {{{"row_dim",
            given != of_model.end() ? given->second : fmt::format("{}", std::max(1u, dim / 4))}}};
}

REGISTER_MEMBER(AddTableKind("mixed",
                             {.options = {"temperature", "round_dims", "full_dim_rows", "lookups",
                                          "row_dim"},
                              .sizes_to_ask = &MixedSizes,
                              .is_drawn_by_numpy = true},
                             &Mixed::Make));

}  // namespace
}  // namespace rowhouse
