// What every TableKind promises. Runs once per registered name, with the fewest options.
#include <random>
#include <set>

#include "common/nearest_name.h"
#include "sharding/tables/embedding_tables.h"
#include "sharding/tables/table_kind.h"
#include "tests/testing/kind_options.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

class TableKindContract : public testing::TestWithParam<std::string> {
 protected:
  static LogicalTable Table(uint64_t rows, uint32_t dim) {
    return TableOfKind(GetParam(), MinimalOptions(GetParam()), rows, dim);
  }
  static std::unique_ptr<TableKind> Make(const LogicalTable& table) {
    return TableKinds().Make(GetParam(), {.table = table, .model = {&table, 1}}).value();
  }
  static std::vector<uint64_t> Resolve(const TableKind& kind, size_t part,
                                       const std::vector<uint64_t>& ids) {
    std::vector<uint64_t> rows(ids.size(), UINT64_MAX);
    kind.Resolve(part, ids, rows);
    return rows;
  }
  static std::vector<uint32_t> Assign(const TableKind& kind, const std::vector<uint64_t>& ids) {
    std::vector<uint32_t> groups(ids.size(), UINT32_MAX);
    kind.Assign(ids, groups);
    return groups;
  }
  // Those of `ids` that have the part.
  static std::vector<uint64_t> WithPart(const TableKind& kind, size_t part,
                                        const std::vector<uint64_t>& ids) {
    const std::vector<IdGroup> groups = GroupsOf(kind.layout(), "");
    const std::vector<uint32_t> assigned = Assign(kind, ids);
    std::vector<uint64_t> with;
    for (size_t i = 0; i < ids.size(); ++i) {
      const IdGroup& group = groups.at(assigned[i]);
      if (part - group.first_part < group.parts) with.push_back(ids[i]);
    }
    return with;
  }
  // Both ends, and some between.
  static std::vector<uint64_t> IdsOf(uint64_t rows) {
    std::vector<uint64_t> ids = {0, rows - 1, rows / 2};
    std::mt19937_64 random(7);
    for (int i = 0; i < 500; ++i) ids.push_back(random() % rows);
    return ids;
  }
  static constexpr uint64_t kSizes[] = {1, 2, 3, 7, 1000, 16'777'259, uint64_t{1} << 63};
};

TEST_P(TableKindContract, EveryPartOfEveryIdIsARowOfItsTable) {
  for (const uint64_t size : kSizes) {
    const auto kind = Make(Table(size, 8));
    const KindLayout& layout = kind->layout();
    ASSERT_FALSE(layout.parts.empty());
    for (size_t part = 0; part < layout.parts.size(); ++part) {
      ASSERT_LT(layout.parts[part], layout.tables.size());
      const uint64_t rows = layout.tables[layout.parts[part]].spec.rows;
      for (const uint64_t row : Resolve(*kind, part, WithPart(*kind, part, IdsOf(size)))) {
        ASSERT_LT(row, rows) << "part " << part << " of a table of " << size;
      }
    }
  }
}

TEST_P(TableKindContract, AnIdHasTheSameRowsAloneRepeatedAndInAnotherObject) {
  const auto kind = Make(Table(1000, 8)), other = Make(Table(1000, 8));
  std::vector<uint64_t> ids = IdsOf(1000);
  const std::vector<uint32_t> groups = Assign(*kind, ids);
  EXPECT_EQ(Assign(*other, ids), groups);
  for (size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(Assign(*kind, {ids[i]})[0], groups[i]);
  for (size_t part = 0; part < kind->layout().parts.size(); ++part) {
    std::vector<uint64_t> with = WithPart(*kind, part, ids);
    ASSERT_FALSE(with.empty()) << "a part that no id has";
    with.push_back(with.front());
    const std::vector<uint64_t> rows = Resolve(*kind, part, with);
    EXPECT_EQ(rows.front(), rows.back());
    EXPECT_EQ(Resolve(*other, part, with), rows);
    for (size_t i = 0; i < with.size(); ++i) {
      ASSERT_EQ(Resolve(*kind, part, {with[i]}), std::vector<uint64_t>{rows[i]});
    }
  }
}

TEST_P(TableKindContract, WidthsFollowFromThePartsAndEndAtTheTables) {
  for (const uint32_t dim : {1u, 8u, 128u}) {
    const auto kind = Make(Table(1000, dim));
    const KindLayout& layout = kind->layout();
    size_t next = 0;
    for (const IdGroup& group : GroupsOf(layout, "table0")) {
      ASSERT_EQ(group.first_part, next) << "every part is of one group";
      next += group.parts;
      ASSERT_GE(group.parts, 1u);
      ASSERT_LE(next, layout.parts.size());
      uint32_t sum = 0;
      const uint32_t first = layout.tables[layout.parts[group.first_part]].spec.dim;
      for (size_t part = group.first_part; part < next; ++part) {
        EXPECT_EQ(layout.tables[layout.parts[part]].spec.dim, first);
        sum += first;
      }
      EXPECT_EQ(group.width, layout.combine == Combine::kConcat ? sum : first);
      if (group.projects) {
        EXPECT_EQ(layout.out_width, dim);
        EXPECT_FALSE(group.projection.empty());
      } else {
        EXPECT_EQ(layout.out_width, group.width);
      }
    }
    EXPECT_EQ(next, layout.parts.size());
    EXPECT_THAT(layout.projection_initialiser, testing::AnyOf("xavier_normal", "xavier_uniform"));
  }
}

TEST_P(TableKindContract, PhysicalTablesAreValidAndNamedAfterTheirTable) {
  const LogicalTable table = Table(1000, 8);
  const auto kind = Make(table);
  std::set<std::string> names;
  std::set<uint32_t> used(kind->layout().parts.begin(), kind->layout().parts.end());
  EXPECT_EQ(used.size(), kind->layout().tables.size()) << "a table nobody looks anything up in";
  for (const PhysicalTable& physical : kind->layout().tables) {
    EXPECT_OK(physical.spec.Validate());
    EXPECT_TRUE(physical.spec.name.starts_with(table.name)) << physical.spec.name;
    EXPECT_TRUE(names.insert(physical.spec.name).second) << physical.spec.name;
  }
}

TEST_P(TableKindContract, OptimizerFirstValuesAndNormsAreTheTables) {
  LogicalTable table = Table(1000, 8);
  table.optimizer = "adagrad";
  table.optimizer_options.epsilon = 0.5f;
  table.initialiser_options.seed = 77;
  table.initialiser_options.scale = 0.25;
  table.max_norm = 2.0;
  table.norm_type = 1.0;
  table.scale_grad_by_freq = true;
  table.learning_rate_factor = 3.0;
  const auto kind = Make(table);
  for (const PhysicalTable& physical : kind->layout().tables) {
    EXPECT_EQ(physical.spec.optimizer, "adagrad");
    EXPECT_EQ(physical.spec.optimizer_options, table.optimizer_options);
    EXPECT_EQ(physical.spec.initialiser_options, table.initialiser_options);
    EXPECT_EQ(physical.spec.max_norm, 2.0);
    EXPECT_EQ(physical.spec.norm_type, 1.0);
    EXPECT_TRUE(physical.spec.scale_grad_by_freq);
    EXPECT_EQ(physical.spec.learning_rate_factor, 3.0);
  }
}

TEST_P(TableKindContract, AnUnknownOptionIsRefusedWithTheNearest) {
  for (const std::string& option : KindOptionNames(GetParam())) {
    LogicalTable table = Table(1000, 8);
    const std::string slip = option + "x";
    table.kind_options[slip] = "1";
    const Status status = EmbeddingTables::Make({table}).status();
    EXPECT_EQ(status.code(), StatusCode::kUsage);
    EXPECT_THAT(status.message(),
                HasSubstr(fmt::format("table \"table0\": unknown option \"{}\" of a {} table", slip,
                                      GetParam())));
    EXPECT_THAT(status.message(), HasSubstr(fmt::format("Did you mean \"{}\"?", option)));
  }
}

TEST_P(TableKindContract, AnOptionThatCannotBeReadIsRefused) {
  for (const std::string& option : KindOptionNames(GetParam())) {
    LogicalTable table = Table(1000, 8);
    table.kind_options[option] = "?";  // no number, no name, no choice
    const Status status = EmbeddingTables::Make({table}).status();
    EXPECT_EQ(status.code(), StatusCode::kUsage) << option;
    EXPECT_THAT(status.message(), HasSubstr("table \"table0\": " + option + "=?")) << option;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, TableKindContract, testing::ValuesIn(TableKinds().Names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace rowhouse
