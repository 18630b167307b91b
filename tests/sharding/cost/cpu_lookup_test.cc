// The roofline of lookups on a CPU: worked examples, and what must hold of any.
#include "sharding/lab/cost/memory_traffic.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TEST(CpuLookupTest, WorkedExamplesAreAsInTheVectors) {
  const auto vectors = LoadVectors("perf_model.json");
  for (const auto& want : vectors["cpu_mapping_examples"]) {
    const CpuLookup lookup = {.samples = want["B"],
                              .rows = want["E"],
                              .tables = want["T"],
                              .bag_length = want["L"],
                              .dim = want["D"],
                              .element_bytes = want["elem_bytes"],
                              .threads = want["threads"]};
    const CpuMemory memory = {
        .dram_gbs = want["dram_gbs"], .llc_gbs = want["llc_gbs"], .llc_bytes = want["llc_bytes"]};
    const CpuLookupCost cost = CpuLookupForward(lookup, memory);
    const auto near = [&](double got, const char* name) {
      const double value = want[name];
      // The vectors take 1 - 1/rows, which loses digits for 40 million rows; ours does not.
      EXPECT_NEAR(got, value, 2e-9 * value + 1e-7) << name;
    };
    near(cost.us, "us");
    near(cost.dram_us, "dram_us");
    near(cost.llc_us, "llc_us");
    near(cost.latency_us, "latency_us");
    near(cost.miss_rows, "miss_rows");
  }
}

TEST(CpuLookupTest, SkewedIdsMissLess) {
  CpuLookup lookup = {.samples = 8192, .rows = 10e6, .bag_length = 10, .dim = 64};
  const CpuLookupCost even = CpuLookupForward(lookup, {});
  lookup.distinct_rows = 20000;  // fit the cache
  const CpuLookupCost skewed = CpuLookupForward(lookup, {});
  EXPECT_EQ(skewed.miss_rows, 20000);
  EXPECT_LT(skewed.us, even.us / 2);
}

TEST(CpuLookupTest, AnUpdateReadsAndWritesRowAndStateInWholeLines) {
  EXPECT_EQ(CpuUpdateBytes(100, 256, 0), 100 * 2 * 256);
  EXPECT_EQ(CpuUpdateBytes(100, 65, 4), 100 * 2 * (128 + 64));
}

}  // namespace
}  // namespace rowhouse
