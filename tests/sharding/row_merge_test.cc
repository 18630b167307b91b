#include "sharding/rows/row_merge.h"

#include <map>
#include <random>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

struct Merged {
  std::vector<RowId> rows;
  std::vector<uint32_t> counts, slots;
};

Merged ByMap(const std::vector<uint64_t>& ids) {
  std::map<uint64_t, uint32_t> counts;
  for (const uint64_t id : ids) ++counts[id];
  Merged merged;
  std::map<uint64_t, uint32_t> slot;
  for (const auto& [id, count] : counts) {
    slot[id] = static_cast<uint32_t>(merged.rows.size());
    merged.rows.push_back(RowId{id});
    merged.counts.push_back(count);
  }
  for (const uint64_t id : ids) merged.slots.push_back(slot[id]);
  return merged;
}

TEST(RowMerge, ByHand) {
  Merged merged;
  RowMerge().Merge(std::vector<uint64_t>{9, 2, 9, 1ull << 40}, &merged.rows, &merged.counts,
                   &merged.slots);
  EXPECT_EQ(merged.rows, (std::vector<RowId>{RowId{2}, RowId{9}, RowId{1ull << 40}}));
  EXPECT_EQ(merged.counts, (std::vector<uint32_t>{1, 2, 1}));
  EXPECT_EQ(merged.slots, (std::vector<uint32_t>{1, 0, 1, 2}));
}

// Batches that take every way through the merge (counting; comparison sort and radix sort, of
// narrow and of wide ids), by one object that must not remember the batch before.
TEST(RowMerge, EveryWayGivesWhatAMapGives) {
  RowMerge merge;
  Merged merged;
  std::mt19937_64 random(11);
  for (const size_t lookups : {5000u, 0u, 1u, 3u, 255u, 256u, 4096u, 300u}) {
    for (const uint64_t rows : {uint64_t{1}, uint64_t{50}, uint64_t{1000000}, uint64_t{1} << 32,
                                (uint64_t{1} << 32) + 1, uint64_t{1} << 63}) {
      std::vector<uint64_t> ids(lookups);
      // Half of them from a few, so that rows repeat in every table.
      for (uint64_t& id : ids)
        id =
            random() % 2 == 0 ? random() % rows : rows - 1 - random() % std::min<uint64_t>(rows, 8);
      merge.Merge(ids, &merged.rows, &merged.counts, &merged.slots);
      const Merged want = ByMap(ids);
      ASSERT_EQ(merged.rows, want.rows) << lookups << " of " << rows;
      ASSERT_EQ(merged.counts, want.counts) << lookups << " of " << rows;
      ASSERT_EQ(merged.slots, want.slots) << lookups << " of " << rows;
    }
  }
}

}  // namespace
}  // namespace rowhouse
