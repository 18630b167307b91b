// Every solver case of composite_embeddings.json, and the edges beyond them.
#include "sharding/tables/mixed_dimensions.h"

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using nlohmann::json;

TEST(MixedDimensions, AreDlrms) {
  const json file = LoadVectors("composite_embeddings.json");
  const json& solver = file["mixed_dimension"]["solver"];
  ASSERT_EQ(solver.size(), 28u);
  for (const json& want : solver) {
    const auto rows = want["n"].get<std::vector<uint64_t>>();
    const auto lookups = want.value("k", std::vector<double>());
    const std::vector<uint32_t> dims =
        MixedDimensions(rows, {.temperature = want["alpha"].get<double>(),
                               .base_dim = want.value("d0", 0u),
                               .budget = want.value("B", 0.0),
                               .round_to_power = want["round_to_pow2"].get<bool>(),
                               .lookups = lookups});
    EXPECT_EQ(dims, want["dims"].get<std::vector<uint32_t>>()) << want;
    uint64_t weights = 0;
    for (size_t i = 0; i < rows.size(); ++i) weights += rows[i] * dims[i];
    EXPECT_EQ(weights, want["params"].get<uint64_t>()) << want;
    // Before the floor of 1 and rounding; f32 in another order of operations.
    ASSERT_EQ(want["raw_before_floor_and_round"].size(), rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      const double raw = want["raw_before_floor_and_round"][i].get<double>();
      if (want["round_to_pow2"].get<bool>()) continue;
      EXPECT_NEAR(std::max(raw, 1.0), dims[i], 0.5 + 1e-5);
    }
  }
}

// One table keeps its base dim, which is then rounded.
TEST(MixedDimensions, RoundToTheNearestPowerOfTwo) {
  const json file = LoadVectors("composite_embeddings.json");
  const std::vector<uint64_t> rows = {10};
  for (const json& pair : file["mixed_dimension"]["pow2_round"]) {
    EXPECT_EQ(MixedDimensions(rows, {.base_dim = pair[0].get<uint32_t>(), .round_to_power = true}),
              std::vector<uint32_t>{pair[1].get<uint32_t>()})
        << pair;
  }
}

TEST(MixedDimensions, NoTablesHaveNone) {
  EXPECT_TRUE(MixedDimensions({}, {.base_dim = 4}).empty());
}

// d0 * n_min^10 is beyond f32 here, and n^-10 below it.
TEST(MixedDimensions, ASteepRuleGivesNarrowRowsAndNoNonsense) {
  const std::vector<uint64_t> rows = {100'000, 200'000, uint64_t{1} << 63};
  EXPECT_EQ(MixedDimensions(rows, {.temperature = 10.0, .base_dim = 1024}),
            (std::vector<uint32_t>{1024, 1, 1}));
}

TEST(MixedDimensions, AnOftenAskedTableGetsAtMostWhatADimCanBe) {
  const std::vector<uint64_t> rows = {10, 20};
  const std::vector<double> lookups = {1.0, 1e9};
  const std::vector<uint32_t> dims =
      MixedDimensions(rows, {.temperature = 10.0, .base_dim = 64, .lookups = lookups});
  EXPECT_EQ(dims[0], 64u);
  EXPECT_GE(dims[1], 1u << 31);
}

}  // namespace
}  // namespace rowhouse
