// Tables of kind mixed: widths that follow from the sizes of all tables. The numbers are those of
// composite_embeddings.json.
#include <vector>

#include "tests/testing/kind_tables.h"

namespace rowhouse {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

std::vector<LogicalTable> MixedTables(const std::vector<uint64_t>& rows, uint32_t dim,
                                      const KindOptions& options) {
  std::vector<LogicalTable> tables;
  for (const uint64_t n : rows) {
    tables.push_back(TableOfKind("mixed", options, n, dim));
    tables.back().name = "table" + std::to_string(tables.size() - 1);
  }
  return tables;
}

// Each table's width follows from the sizes of all; never above the model's.
TEST(Mixed, HasTheDimsOfTheRule) {
  const json file = LoadVectors("composite_embeddings.json");
  size_t cases = 0;
  for (const json& want : file["mixed_dimension"]["solver"]) {
    if (!want.contains("d0")) continue;  // by a budget: a model's widths follow from its own
    ++cases;
    const auto dim = want["d0"].get<uint32_t>();
    std::vector<LogicalTable> tables =
        MixedTables(want["n"].get<std::vector<uint64_t>>(), dim,
                    {{"temperature", want["alpha"].dump()},
                     {"round_dims", want["round_to_pow2"].get<bool>() ? "true" : "false"}});
    for (size_t i = 0; want.contains("k") && i < tables.size(); ++i) {
      tables[i].kind_options["lookups"] = want["k"][i].dump();
    }
    // Tables of another kind have no say.
    LogicalTable plain = TableOfKind("plain", {}, 1, dim);
    plain.name = "other";
    tables.insert(tables.begin(), plain);
    const EmbeddingTables resolved = EmbeddingTables::Make(tables).value();
    for (size_t i = 0; i < want["n"].size(); ++i) {
      const uint32_t by_rule = want["dims"][i].get<uint32_t>();
      EXPECT_EQ(resolved.physical[i + 1].dim, std::min(by_rule, dim)) << want;
      EXPECT_EQ(resolved.features[i + 1].kind->layout().projects, by_rule < dim);
      EXPECT_EQ(resolved.features[i + 1].out_width(), dim);
    }
  }
  EXPECT_EQ(cases, 24u);
}

// The tables of a rule need not all be mixed: with full_dim_rows, those that are have the same
// dims.
TEST(Mixed, TheRuleMayCountASmallerTable) {
  const json file = LoadVectors("composite_embeddings.json");
  size_t cases = 0;
  for (const json& want : file["mixed_dimension"]["solver"]) {
    if (!want.contains("d0") || want.contains("k") || want["n"].size() < 2) continue;
    ++cases;
    auto rows = want["n"].get<std::vector<uint64_t>>();
    auto dims = want["dims"].get<std::vector<uint32_t>>();
    const auto smallest = std::ranges::min_element(rows) - rows.begin();
    const uint64_t fewest = rows[static_cast<size_t>(smallest)];
    rows.erase(rows.begin() + smallest);
    dims.erase(dims.begin() + smallest);
    const auto dim = want["d0"].get<uint32_t>();
    const std::vector<LogicalTable> tables =
        MixedTables(rows, dim,
                    {{"temperature", want["alpha"].dump()},
                     {"round_dims", want["round_to_pow2"].get<bool>() ? "true" : "false"},
                     {"full_dim_rows", std::to_string(fewest)}});
    const EmbeddingTables resolved = EmbeddingTables::Make(tables).value();
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(resolved.physical[i].dim, std::min(dims[i], dim)) << want;
    }
  }
  EXPECT_GT(cases, 10u);
}

TEST(Mixed, AWidthMayBeGivenByHand) {
  std::vector<LogicalTable> tables = MixedTables({10, 1000}, 16, {});
  tables[1].kind_options["row_dim"] = "5";
  const EmbeddingTables resolved = EmbeddingTables::Make(tables).value();
  EXPECT_EQ(resolved.physical[0].dim, 16u);
  EXPECT_EQ(resolved.physical[1].dim, 5u);
  tables[1].kind_options["row_dim"] = "17";
  EXPECT_THAT(Refusal(tables), HasSubstr("row_dim=17: expected a whole number from 1 to 16"));
}

TEST(Mixed, RefusesTablesThatDisagree) {
  const std::vector<LogicalTable> good = MixedTables({10, 1000}, 16, {});
  const auto disagreement =
      AllOf(HasSubstr("\"table0\" and \"table1\""), HasSubstr("share dim, temperature, "));
  std::vector<LogicalTable> tables = good;
  tables[1].kind_options["temperature"] = "0.4";
  EXPECT_THAT(Refusal(tables), disagreement);
  tables = good;
  tables[1].kind_options["round_dims"] = "true";
  EXPECT_THAT(Refusal(tables), disagreement);
  tables = good;
  tables[1].kind_options["full_dim_rows"] = "7";
  EXPECT_THAT(Refusal(tables), disagreement);
  tables = good;
  tables[1].dim = 8;
  EXPECT_THAT(Refusal(tables), disagreement);
  tables = good;
  tables[1].kind_options["temperature"] = "nan";
  EXPECT_THAT(Refusal(tables), HasSubstr("table \"table1\": temperature=nan"));
}

}  // namespace
}  // namespace rowhouse
