// Looking ahead: when it begins and ends, which steps it prefetches, and whose mistake is told
// when.
#include "worker/train/lookahead.h"

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

EmbeddingTables Tables() {
  LogicalTable table;
  table.name = "t";
  table.rows = 100;
  table.dim = 2;
  return EmbeddingTables::Make({table}).value();
}

// Step s has one sample that looks up row s.
class Samples {
 public:
  Lookahead::Reader reader() {
    return [this](uint64_t step, Batch* batch) -> Status {
      reads.push_back(step);
      if (step == broken_step) return UsageError("sample {} is broken", step);
      batch->samples = 1;
      batch->features.resize(1);
      batch->features[0].ids = {step};
      batch->features[0].EndBag();
      return OkStatus();
    };
  }
  std::vector<uint64_t> reads;
  uint64_t broken_step = ~uint64_t{0};
};

std::vector<std::pair<uint64_t, uint64_t>> Prefetched(Lookahead& lookahead) {
  std::vector<std::pair<uint64_t, uint64_t>> prefetched;  // step, its row
  uint64_t step = 0;
  while (const std::vector<RowBatch>* rows = lookahead.NextToPrefetch(&step)) {
    EXPECT_EQ(rows->size(), 1u);
    prefetched.emplace_back(step, Raw(rows->front().rows.at(0)));
  }
  return prefetched;
}

using Steps = std::vector<std::pair<uint64_t, uint64_t>>;

TEST(Lookahead, DoesNothingWhileNoPullWaits) {
  Samples samples;
  Lookahead lookahead(samples.reader(), Tables(), /*max_steps=*/4, /*end=*/10);
  for (uint64_t step = 0; step < 10; ++step) {
    ASSERT_OK(lookahead.Take(step));
    EXPECT_TRUE(Prefetched(lookahead).empty());
    lookahead.OnPulled(false);
  }
  EXPECT_EQ(samples.reads.size(), 10u);
}

TEST(Lookahead, LooksOneStepFurtherEachTimeAPullWaits) {
  Samples samples;
  Lookahead lookahead(samples.reader(), Tables(), /*max_steps=*/2, /*end=*/6);
  ASSERT_OK(lookahead.Take(0));
  lookahead.OnPulled(true);
  EXPECT_EQ(Prefetched(lookahead), (Steps{{1, 1}}));
  EXPECT_TRUE(Prefetched(lookahead).empty()) << "once is enough";
  ASSERT_OK(lookahead.Take(1));
  lookahead.OnPulled(true);
  EXPECT_EQ(Prefetched(lookahead), (Steps{{2, 2}, {3, 3}}));
  ASSERT_OK(lookahead.Take(2));
  lookahead.OnPulled(true);
  EXPECT_EQ(lookahead.steps_ahead(), 2u) << "no further than it may";
  EXPECT_EQ(Prefetched(lookahead), (Steps{{4, 4}}));
  ASSERT_OK(lookahead.Take(3));
  EXPECT_EQ(Prefetched(lookahead), (Steps{{5, 5}}));
  ASSERT_OK(lookahead.Take(4));
  EXPECT_TRUE(Prefetched(lookahead).empty()) << "there is no step 6";
  ASSERT_OK(lookahead.Take(5));
  EXPECT_EQ(samples.reads, (std::vector<uint64_t>{0, 1, 2, 3, 4, 5})) << "each is read once";
}

TEST(Lookahead, LooksLessFarAfterManyQuietSteps) {
  Samples samples;
  Lookahead lookahead(samples.reader(), Tables(), /*max_steps=*/4, /*end=*/10000);
  lookahead.OnPulled(true);
  lookahead.OnPulled(true);
  ASSERT_EQ(lookahead.steps_ahead(), 2u);
  for (uint32_t i = 0; i < Lookahead::kQuietSteps; ++i) lookahead.OnPulled(false);
  EXPECT_EQ(lookahead.steps_ahead(), 1u);
  for (uint32_t i = 0; i < 5 * Lookahead::kQuietSteps; ++i) lookahead.OnPulled(false);
  EXPECT_EQ(lookahead.steps_ahead(), 0u);
}

TEST(Lookahead, AMistakeIsToldOnItsTurn) {
  Samples samples;
  samples.broken_step = 2;
  Lookahead lookahead(samples.reader(), Tables(), /*max_steps=*/4, /*end=*/10);
  for (int i = 0; i < 4; ++i) lookahead.OnPulled(true);
  ASSERT_OK(lookahead.Take(0));
  EXPECT_EQ(Prefetched(lookahead), (Steps{{1, 1}, {3, 3}, {4, 4}}));
  ASSERT_OK(lookahead.Take(1));
  EXPECT_THAT(lookahead.Take(2).status().message(), testing::HasSubstr("sample 2 is broken"));
}

}  // namespace
}  // namespace rowhouse
