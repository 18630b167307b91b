#include "sharding/tables/embedding_tables.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "sharding/rows/initialiser.h"

namespace rowhouse {
namespace {

// "a.npy, b.npy" is two names: spaces around one are no part of it.
std::vector<std::string> NamesBetweenCommas(const std::string& text) {
  constexpr const char* kSpace = " \t";
  std::vector<std::string> items;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, end - begin);
    const size_t first = item.find_first_not_of(kSpace);
    if (first != std::string::npos) {
      items.push_back(item.substr(first, item.find_last_not_of(kSpace) + 1 - first));
    }
    begin = end + 1;
  }
  return items;
}

// "user.quotient (25 x 8), user.remainder (4 x 8)"
std::string NamesOf(const KindLayout& layout) {
  std::vector<std::string> names;
  for (const PhysicalTable& table : layout.tables) {
    names.push_back(fmt::format("{} ({} x {})", table.spec.name, table.spec.rows, table.spec.dim));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

class Resolver {
 public:
  Resolver(const std::vector<LogicalTable>& tables, bool has_wide) : tables_(tables) {
    result_.has_wide = has_wide;
  }

  Result<EmbeddingTables> Resolve() {
    for (const LogicalTable& table : tables_) {
      RETURN_IF_ERROR(Add(table));
    }
    for (size_t k = 0; result_.has_wide && k < tables_.size(); ++k) {
      const LogicalTable wide = WideTableOf(tables_[k]);
      RETURN_IF_ERROR(Add(wide, WideKindOf(result_.features[k].kind, wide)));
    }
    RETURN_IF_ERROR(ValidateTables(result_.physical));
    return std::move(result_);
  }

 private:
  Status Add(const LogicalTable& table) {
    RETURN_IF_ERROR(table.Validate());
    RETURN_IF_ERROR(CheckInitialiserOptions(table));
    ASSIGN_OR_RETURN(std::unique_ptr<TableKind> kind,
                     TableKinds().Make(table.kind, {.table = table, .model = tables_}));
    return Add(table, std::move(kind));
  }

  Status Add(const LogicalTable& table, std::shared_ptr<const TableKind> kind) {
    if (!names_.insert(table.name).second) {
      return UsageError("table \"{}\" is named twice", table.name);
    }
    FeatureTable feature{
        .table = table, .kind = std::move(kind), .parts = {}, .groups = {}, .weights = {}};
    const KindLayout& layout = feature.kind->layout();
    feature.groups = GroupsOf(layout, table.name);
    RETURN_IF_ERROR(CheckGroups(feature));
    std::vector<TableId> ids;
    const std::vector<std::string> files = NamesBetweenCommas(table.initialiser_options.file);
    if (table.initialiser == "npy" && files.size() != layout.tables.size()) {
      return UsageError(
          "table \"{}\": init_from names {} file{}, a {} table is kept in {}: {}; give one for "
          "each, joined by commas",
          table.name, files.size(), files.size() == 1 ? "" : "s", table.kind, layout.tables.size(),
          NamesOf(layout));
    }
    for (size_t i = 0; i < layout.tables.size(); ++i) {
      PhysicalTable physical = layout.tables[i];
      if (table.initialiser == "npy") physical.spec.initialiser_options.file = files[i];
      ASSIGN_OR_RETURN(const TableId id, AddPhysical(table, physical));
      ids.push_back(id);
    }
    for (const uint32_t part : layout.parts) feature.parts.push_back(ids[part]);
    if (table.weighted_pooling == "learned") {
      PhysicalTable weights = MakePhysical(table, ".weights", table.rows, 1);
      weights.spec.initialiser = "constant";
      weights.spec.initialiser_options = {.value = 1.0};
      weights.spec.max_norm = 0.0;
      // Of the rows' gradient: a weight of an id is a parameter like any other (DLRM's v_W).
      weights.spec.scale_grad_by_freq = false;
      weights.spec.precision = TableSpec().precision;  // One column in 2 bytes would fill 4.
      ASSIGN_OR_RETURN(feature.weights, AddPhysical(table, weights));
    }
    result_.features.push_back(std::move(feature));
    return OkStatus();
  }

  Status CheckGroups(const FeatureTable& feature) {
    const LogicalTable& table = feature.table;
    if (table.pooling == "max" && feature.groups.size() > 1) {
      return UsageError(
          "table \"{}\": pooling=max of a {} table whose ids are in {} groups: each group is "
          "pooled "
          "before a projection of its own, and the maximum over vectors that are projected "
          "differently is none; give it sum or mean, or a kind of one projection (block)",
          table.name, table.kind, feature.groups.size());
    }
    for (const IdGroup& group : feature.groups) {
      if (!group.projects) continue;
      const Projected projected{table.kind, group.width, feature.out_width(), table.freeze};
      const auto [found, is_new] = projections_.emplace(group.projection, projected);
      if (found->second == projected) continue;
      return UsageError(
          "table \"{}\": its projection \"{}\" is that of another table, which differs in kind, "
          "dim or freeze; give one of them another name",
          table.name, group.projection);
    }
    return OkStatus();
  }

  Result<TableId> AddPhysical(const LogicalTable& table, const PhysicalTable& physical) {
    const auto next = TableId{static_cast<uint32_t>(result_.physical.size())};
    TableSpec spec = physical.spec;
    spec.kind = table.kind;
    const auto [found, is_new] = by_name_.emplace(spec.name, next);
    spec.id = found->second;
    if (is_new) {
      result_.physical.push_back(spec);
      result_.on_workers.push_back(physical.on_workers);
      result_.is_frozen.push_back(table.freeze);
      result_.strategies.push_back(table.strategy);
      result_.pool_on.push_back(table.pool_on);
      return next;
    }
    const size_t index = Raw(found->second);
    // Counted for each feature, whatever its initialiser; the rows are drawn once.
    spec.initialiser_options.first_draw = result_.physical[index].initialiser_options.first_draw;
    if (result_.physical[index] != spec || result_.on_workers[index] != physical.on_workers ||
        result_.is_frozen[index] != table.freeze || result_.strategies[index] != table.strategy ||
        result_.pool_on[index] != table.pool_on) {
      return UsageError(
          "table \"{}\": its rows are those of \"{}\", which another table made with other rows, "
          "dim, kind, optimizer, initial values, precision, norm, freeze, strategy or pool_on; "
          "tables that "
          "share rows "
          "must agree on them",
          table.name, spec.name);
    }
    return found->second;
  }

  const std::vector<LogicalTable>& tables_;
  EmbeddingTables result_;
  std::set<std::string> names_;  // of tables so far
  std::map<std::string, TableId> by_name_;

  struct Projected {
    std::string kind;
    uint32_t width, out_width;
    bool is_frozen;
    bool operator==(const Projected&) const = default;
  };
  std::map<std::string, Projected> projections_;
};

}  // namespace

Result<EmbeddingTables> EmbeddingTables::Make(const std::vector<LogicalTable>& tables,
                                              bool has_wide) {
  return Resolver(tables, has_wide).Resolve();
}

std::vector<uint32_t> EmbeddingTables::widths() const {
  std::vector<uint32_t> widths;
  for (size_t k = 0; k < columns(); ++k) widths.push_back(features[k].out_width());
  return widths;
}

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
