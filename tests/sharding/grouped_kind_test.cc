// Tables of kind grouped: rows and widths by group, and what it refuses.
#include <set>
#include <vector>

#include "tests/testing/kind_tables.h"

namespace rowhouse {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::vector<LogicalTable> GroupedTables(const std::vector<uint64_t>& rows, uint32_t dim,
                                        const KindOptions& options) {
  std::vector<LogicalTable> tables;
  for (const uint64_t one : rows) {
    tables.push_back(TableOfKind("grouped", options, one, dim));
    tables.back().name = fmt::format("t{}", tables.size() - 1);
  }
  return tables;
}

// Physical tables by name: "t0.group1 (40 x 2)".
std::set<std::string> Physical(const EmbeddingTables& tables) {
  std::set<std::string> names;
  for (const TableSpec& table : tables.physical) {
    names.insert(fmt::format("{} ({} x {})", table.name, table.rows, table.dim));
  }
  return names;
}

// The seed's model: cuts {2: [3133], 4: [1749], 5: [3979]}, groups [0,1,2], [2,3,4], [4,5],
// [5,6,7], offsets [0,100,2120], [0,70,3504], [0,1274], [0,566,689].
TEST(Grouped, FairGroupsAreThoseOfLoadBalanceManager) {
  const EmbeddingTables tables =
      EmbeddingTables::Make(GroupedTables({100, 2020, 3203, 3434, 3023, 4545, 123, 4566}, 128, {}))
          .value();
  EXPECT_EQ(Physical(tables),
            (std::set<std::string>{"t0.group0 (5253 x 32)", "t0.group1 (5253 x 32)",
                                   "t0.group2 (5253 x 32)", "t0.group3 (5255 x 32)"}));
  const FeatureTable& cut = tables.features[4];  // rows 0 .. 1748 in group 1, from there on in 2
  ASSERT_EQ(cut.groups.size(), 2u);
  EXPECT_EQ(cut.groups[0].projection, "t0.group1.projection");
  EXPECT_EQ(cut.groups[1].projection, "t0.group2.projection");
  EXPECT_EQ(cut.out_width(), 128u);
  const std::vector<uint64_t> ids = {0, 1748, 1749, 3022};
  std::vector<uint32_t> groups(ids.size());
  cut.kind->Assign(ids, groups);
  EXPECT_EQ(groups, (std::vector<uint32_t>{0, 0, 1, 1}));
  EXPECT_EQ(RowsOfPart(cut, 0, {0, 1748}), (std::vector<uint64_t>{3504, 5252}));
  EXPECT_EQ(RowsOfPart(cut, 1, {1749, 3022}), (std::vector<uint64_t>{0, 1273}));
  EXPECT_EQ(RowsOfPart(tables.features[7], 0, {4565}), std::vector<uint64_t>{5254});
}

TEST(Grouped, EveryIdOfEveryTableIsARowOfItsOwn) {
  for (const std::string mode : {"fair", "shuffle", "greedy"}) {
    for (const std::string method : {"block", "qr"}) {
      const std::vector<uint64_t> sizes = {7, 1, 30, 2, 11};
      const EmbeddingTables tables =
          EmbeddingTables::Make(
              GroupedTables(sizes, 8, {{"groups", "3"}, {"mode", mode}, {"method", method}}))
              .value();
      std::set<std::vector<uint64_t>> places;
      for (const FeatureTable& feature : tables.features) {
        for (uint64_t id = 0; id < feature.table.rows; ++id) {
          uint32_t number = 0;
          feature.kind->Assign({&id, 1}, {&number, 1});
          const IdGroup& group = feature.groups.at(number);
          std::vector<uint64_t> place;
          for (uint32_t p = group.first_part; p < group.first_part + group.parts; ++p) {
            place.push_back(Raw(feature.parts[p]));
            place.push_back(RowsOfPart(feature, p, {id})[0]);
            ASSERT_LT(place.back(), tables.physical[Raw(feature.parts[p])].rows);
          }
          EXPECT_TRUE(places.insert(place).second) << mode << " " << method << " id " << id;
        }
      }
      EXPECT_EQ(places.size(), 51u);
    }
  }
}

// The seed's second model: groups [3,0], [1,2], [5,6], [7,4] by shuffle, widths 128, 2, 2, 2.
TEST(Grouped, WholeTablesGetWiderRowsInLargerGroups) {
  const std::vector<uint64_t> rows = {100, 2020, 3203, 3434302, 3023, 45459, 123, 4566};
  const EmbeddingTables tables =
      EmbeddingTables::Make(GroupedTables(rows, 128, {{"mode", "shuffle"}})).value();
  EXPECT_EQ(Physical(tables),
            (std::set<std::string>{"t0.group0 (3434402 x 128)", "t0.group1 (5223 x 2)",
                                   "t0.group2 (45582 x 2)", "t0.group3 (7589 x 2)"}));
  EXPECT_FALSE(tables.features[3].groups[0].projects);
  EXPECT_EQ(RowsOfPart(tables.features[0], 0, {0}), std::vector<uint64_t>{3434302});
  // Buckets of ceil(sqrt(rows)).
  const EmbeddingTables qr =
      EmbeddingTables::Make(GroupedTables(rows, 128, {{"mode", "shuffle"}, {"method", "qr"}}))
          .value();
  EXPECT_TRUE(Physical(qr).contains("t0.group1.remainder (73 x 2)"));
  EXPECT_TRUE(Physical(qr).contains("t0.group1.quotient (72 x 2)"));
  EXPECT_TRUE(Physical(qr).contains("t0.group0.remainder (1854 x 128)"));
}

// 100 rows in parts of 5, 1 and 2 of 8: 62, 12 and the rest; widths 16 / 2^floor(log2(8 / part)).
TEST(Grouped, OfMoreGroupsThanTablesSomeAreEmpty) {
  for (const std::string mode : {"shuffle", "greedy"}) {
    for (const std::string method : {"block", "qr"}) {
      const EmbeddingTables tables =
          EmbeddingTables::Make(
              GroupedTables({60, 40}, 16, {{"groups", "5"}, {"mode", mode}, {"method", method}}))
              .value();
      EXPECT_EQ(tables.physical.size(), method == "qr" ? 4u : 2u) << mode;
      for (const FeatureTable& feature : tables.features) EXPECT_EQ(feature.groups.size(), 1u);
    }
  }
}

TEST(Grouped, CapacitiesWeighTheGroups) {
  EXPECT_EQ(
      Physical(
          EmbeddingTables::Make(GroupedTables({60, 40}, 16, {{"capacities", "5,1,2"}})).value()),
      (std::set<std::string>{"t0.group0 (62 x 16)", "t0.group1 (12 x 2)", "t0.group2 (26 x 4)"}));
  EXPECT_THAT(Refusal("grouped", {{"capacities", "5,1"}, {"groups", "3"}}),
              HasSubstr("2 capacities for num_groups=3"));
  EXPECT_THAT(Refusal("grouped", {{"capacities", "5,1"}, {"mode", "shuffle"}}),
              HasSubstr("shuffle assigns equally many"));
  for (const char* wrong : {"", "0,1", "1,", ",1", "1,-1", "1;2", "1,4294967296"}) {
    EXPECT_THAT(Refusal("grouped", {{"capacities", wrong}}),
                HasSubstr("expected whole numbers from 1 to 4294967295, joined by commas"))
        << wrong;
  }
}

TEST(Grouped, RefusesWhatCannotBeGrouped) {
  std::vector<LogicalTable> two = GroupedTables({60, 40}, 8, {{"groups", "2"}});
  two[1].dim = 4;
  EXPECT_THAT(Refusal(two), AllOf(HasSubstr("table \"t0\" and table \"t1\""), HasSubstr("dim")));
  two[1].kind_options["share"] = "other";
  EXPECT_OK(EmbeddingTables::Make(two).status());
  EXPECT_THAT(Refusal("grouped", {{"groups", "101"}}), HasSubstr("exceeds the 100 rows"));
  LogicalTable max = TableOfKind("grouped", {}, 100, 8);
  max.pooling = "max";
  EXPECT_THAT(Refusal({max}), AllOf(HasSubstr("table \"table0\": pooling=max"),
                                    HasSubstr("in 4 groups"), HasSubstr("block")));
  max.kind_options["groups"] = "1";
  EXPECT_OK(EmbeddingTables::Make({max}).status());
  // One table frozen, the other not, over the same rows or the same projection.
  two = GroupedTables({60, 40}, 8, {{"groups", "3"}});
  two[1].freeze = true;
  EXPECT_THAT(Refusal(two), HasSubstr("\"t1\": its projection \"t0.group1.projection\""));
}

}  // namespace
}  // namespace rowhouse
