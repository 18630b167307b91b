#include "ps/shard/pulls.h"

#include "common/wire/codec.h"
#include "sharding/rows/record_weights.h"
#include "tests/testing/frame_of.h"
#include "tests/testing/shard_rooms.h"

namespace rowhouse {
namespace {

using testing::ElementsAre;

class PullsTest : public ShardRooms {
 protected:
  void OpenPulls(const ShardOptions& options, const std::vector<TableSpec>& tables = {}) {
    if (tables.empty()) {
      Open(options);
    } else {
      OpenTables(options, tables);
    }
    prefetches_ = std::make_unique<Prefetches>(
        *state_,
        Prefetches::Rooms{
            .tables = *tables_, .reader = *reader_, .writer = *writer_, .admission = *admission_});
    pushes_ = std::make_unique<Pushes>(*state_, *tables_);
    pulls_ = std::make_unique<Pulls>(*state_, Pulls::Rooms{.tables = *tables_,
                                                           .reader = *reader_,
                                                           .admission = *admission_,
                                                           .prefetches = *prefetches_,
                                                           .pushes = *pushes_});
  }
  // A row is 64 KiB.
  static TableSpec WideTable() {
    TableSpec table;
    table.name = "t";
    table.rows = 64;
    table.dim = 1 << 14;
    table.optimizer = "sgd";
    return table;
  }
  static PullTask TaskOf(uint64_t step, const std::vector<uint64_t>& rows, bool eval) {
    PullTask task{.request = {.peer = "peer", .header = {.step = step}}, .eval = eval};
    task.tables = {{.table = 0, .rows = static_cast<uint32_t>(rows.size())}};
    task.ids = FrameOf(rows);
    task.counts = eval ? Frame() : FrameOf(std::vector<uint32_t>(rows.size(), 1));
    task.reply_numbers = rows.size();
    return task;
  }
  void Pull(uint64_t step, const std::vector<uint64_t>& rows, bool eval = false) {
    EXPECT_OK(pulls_->Park(TaskOf(step, rows, eval)));
    pulls_->Serve();
  }
  // One bag of these rows of table 0; `slots`: of its lookups.
  void PullBag(uint64_t step, const std::vector<uint64_t>& rows, const std::vector<uint32_t>& slots,
               bool eval) {
    const auto lookups = static_cast<uint32_t>(slots.size());
    PulledBags bags{.part = {.bags = 1, .lookups = lookups}, .slots = slots};
    bags.offsets = {0, lookups};
    std::vector<uint32_t> counts(rows.size());
    for (const uint32_t slot : slots) ++counts[slot];
    for (const uint64_t row : rows) bags.rows.push_back(RowId{row});
    PullTask task = TaskOf(step, rows, eval);
    if (!eval) task.counts = FrameOf(counts);
    task.reply_numbers = 0;
    task.bags = {bags};
    EXPECT_OK(pulls_->Park(std::move(task)));
    pulls_->Serve();
  }
  uint32_t FrequencyOf(RowId row) {
    RowCache& cache = *slice().cache;
    return table().layout.trailer(cache.record(cache.Find(row))).frequency;
  }
  // Of the answers since the last call, one after the other; `frame`: 0, rows, or 1, bags.
  std::vector<float> Pulled(size_t frame = 0) {
    std::vector<float> all;
    for (SendFrames& send : Take<SendFrames>()) {
      const Message message = Unpack(std::move(send.frames)).value();
      const std::span<const float> values = message.payload.at(frame).As<float>();
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

  std::unique_ptr<Prefetches> prefetches_;
  std::unique_ptr<Pushes> pushes_;
  std::unique_ptr<Pulls> pulls_;
};

TEST_F(PullsTest, CachedRowsAreAnsweredAtOnceInTheOrderAsked) {
  OpenPulls({});
  Cache(RowId{3}, 3.0f, /*is_dirty=*/false);
  Cache(RowId{5}, 5.0f, /*is_dirty=*/false);
  Pull(0, {5, 3});
  EXPECT_THAT(Pulled(), ElementsAre(5.0f, 3.0f));
  EXPECT_EQ(state_->counters.pulled.from_memory, 2u);
  EXPECT_EQ(table().pulled.from_memory, 2u);
}

TEST_F(PullsTest, InBf16CachedFreshAndStoredRowsAreRounded) {
  OpenPulls({.row_precision = {.pull = Precision::kBf16}});
  tables_->NoteStored(TableId{0}, RowId{3}, 0);
  Cache(RowId{5}, 1.0f + 0x1p-9f, /*is_dirty=*/false);
  Pull(0, {3, 5, 7});
  ReadRows read = std::move(Take<ReadRows>().at(0));
  const float stored = 0x1.03p3f;
  std::memcpy(read.reads.at(0).records.data(), &stored, sizeof(stored));
  reader_->OnRowsRead({.ticket = read.ticket, .reads = std::move(read.reads)});
  const Message message = Unpack(std::move(Take<SendFrames>().at(0).frames)).value();
  const std::span<const uint16_t> halves = message.payload.at(0).As<uint16_t>();
  ASSERT_EQ(halves.size(), 3u);
  EXPECT_EQ(halves[0], 0x4102);
  EXPECT_EQ(halves[1], 0x3f80);
  const float initial = WeightOf(RowId{7});
  uint16_t rounded = 0;
  RoundToNearestBf16({&initial, 1}, {&rounded, 1});
  EXPECT_EQ(halves[2], rounded);
  EXPECT_EQ(WeightOf(RowId{5}), 1.0f + 0x1p-9f) << "what is kept is not rounded";
}

TEST_F(PullsTest, AMissIsReadWhileOtherPullsPass) {
  OpenPulls({});
  tables_->NoteStored(TableId{0}, RowId{3}, 0);
  Cache(RowId{5}, 5.0f, /*is_dirty=*/false);
  Pull(0, {3, 5});
  EXPECT_TRUE(pulls_->is_reading());
  ReadRows read = std::move(Take<ReadRows>().at(0));
  Pull(0, {5});
  EXPECT_THAT(Pulled(), ElementsAre(5.0f));
  const float stored = 8.0f;
  std::memcpy(read.reads.at(0).records.data(), &stored, sizeof(stored));
  reader_->OnRowsRead({.ticket = read.ticket, .reads = std::move(read.reads)});
  EXPECT_THAT(Pulled(), ElementsAre(8.0f, 5.0f));
  EXPECT_FALSE(pulls_->is_reading());
  EXPECT_EQ(WeightOf(RowId{3}), 8.0f) << "it stays in the cache";
  EXPECT_EQ(state_->counters.pulls_from_store, 1u);
}

TEST_F(PullsTest, BagsOfCachedRowsCountAndPinAsRowsDo) {
  OpenPulls({.node = {.cache_ratio = 2.0 / 64, .cache_ways = 1}});
  Cache(RowId{3}, 3.0f, /*is_dirty=*/false);
  Cache(RowId{5}, 5.0f, /*is_dirty=*/false);
  PullBag(0, {3, 5}, {1, 0, 1}, /*eval=*/true);
  EXPECT_THAT(Pulled(1), ElementsAre(13.0f));
  EXPECT_EQ(state_->counters.pulled.total(), 0u);
  EXPECT_EQ(FrequencyOf(RowId{5}), 0u);
  PullBag(0, {3, 5}, {1, 0, 1}, /*eval=*/false);
  EXPECT_THAT(Pulled(1), ElementsAre(13.0f));
  EXPECT_EQ(state_->counters.pulled.from_memory, 2u);
  EXPECT_EQ(table().pulled.from_memory, 2u);
  EXPECT_EQ(FrequencyOf(RowId{3}), 1u);
  EXPECT_EQ(FrequencyOf(RowId{5}), 2u);
  EXPECT_EQ(admission_->Claim(slice(), RowId{7}), RowCache::kNone) << "both are pinned";
}

// What is pooled in the cache, and what is pooled when a missing row has come.
TEST_F(PullsTest, ABagWithAMissingRowHasTheSumOfOneWithout) {
  OpenPulls({});
  tables_->NoteStored(TableId{0}, RowId{3}, 0);
  Cache(RowId{5}, 5.0f, /*is_dirty=*/false);
  PullBag(0, {3, 5}, {1, 0, 1}, /*eval=*/false);
  ReadRows read = std::move(Take<ReadRows>().at(0));
  const float stored = 3.0f;
  std::memcpy(read.reads.at(0).records.data(), &stored, sizeof(stored));
  reader_->OnRowsRead({.ticket = read.ticket, .reads = std::move(read.reads)});
  EXPECT_THAT(Pulled(1), ElementsAre(13.0f));
  PullBag(0, {3, 5}, {1, 0, 1}, /*eval=*/true);
  EXPECT_THAT(Pulled(1), ElementsAre(13.0f));
}

TEST_F(PullsTest, APullOfALaterStepIsParked) {
  OpenPulls({});
  Pull(1, {3});
  EXPECT_EQ(pulls_->parked().size(), 1u);
  state_->next_step = 1;
  pulls_->Serve();
  EXPECT_EQ(Pulled().size(), 1u);
}

TEST_F(PullsTest, AnEvalPullLeavesNoTrace) {
  OpenPulls({});
  Pull(0, {3}, /*eval=*/true);
  const std::vector<float> initial = Pulled();
  EXPECT_EQ(slice().cache->Find(RowId{3}), RowCache::kNone);
  EXPECT_EQ(state_->counters.pulls, 0u);
  EXPECT_EQ(state_->counters.pulled.total(), 0u);
  Pull(0, {3});
  EXPECT_EQ(Pulled(), initial);
  EXPECT_NE(slice().cache->Find(RowId{3}), RowCache::kNone);
}

// The message came twice; its worker got the first answer, and pushed.
TEST_F(PullsTest, WhatIsReadAfterTheStepWasAppliedDoesNotComeIntoTheCache) {
  OpenPulls({});
  tables_->NoteStored(TableId{0}, RowId{3}, 0);
  Pull(0, {3});
  ReadRows read = std::move(Take<ReadRows>().at(0));
  state_->next_step = 1;
  reader_->OnRowsRead({.ticket = read.ticket, .reads = std::move(read.reads)});
  const Message answer = Unpack(std::move(Take<SendFrames>().at(0).frames)).value();
  EXPECT_EQ(answer.header.type, MessageType::kError);
  EXPECT_EQ(slice().cache->Find(RowId{3}), RowCache::kNone);
  EXPECT_OK(state_->failure);
}

TEST_F(PullsTest, APullWaitsForAPrefetchThatBringsItsRow) {
  OpenPulls({});
  tables_->NoteStored(TableId{0}, RowId{3}, 0);
  prefetches_->Start(
      {.step = 0, .tables = {{.table = 0, .rows = 1}}, .ids = FrameOf(std::vector<uint64_t>{3})});
  Pull(0, {3});
  std::vector<ReadRows> reads = Take<ReadRows>();
  ASSERT_EQ(reads.size(), 2u);
  EXPECT_TRUE(reads[1].reads.empty()) << "a fence";
  for (ReadRows& read : reads) {
    reader_->OnRowsRead({.ticket = read.ticket, .reads = std::move(read.reads)});
  }
  EXPECT_EQ(Pulled().size(), 1u);
  EXPECT_EQ(state_->counters.pulled.from_store, 1u);
}

TEST_F(PullsTest, AWorkerThatPullsWithoutEndIsRefusedAndOthersAreNot) {
  OpenPulls({.name = "shard 0", .workers = 2});
  const auto park = [&](uint32_t worker) {
    PullTask task{.request = {.peer = "peer", .header = {.step = 1, .sender = worker}}};
    EXPECT_OK(task.held.Take(*state_->options.request_memory, uint64_t{1} << 20, "shard 0"));
    return pulls_->Park(std::move(task));
  };
  int taken = 0;
  while (park(0).ok() && taken < 1000) ++taken;
  EXPECT_EQ(taken, 64);
  EXPECT_EQ(state_->options.request_memory->used(), uint64_t{64} << 20);
  EXPECT_OK(park(1));
}

// Answers are made a few megabytes at a time: the driver sends them before it asks for others.
TEST_F(PullsTest, AnswersOfManyPullsAreNotInMemoryAtOnce) {
  OpenPulls({.cache_bytes = uint64_t{16} << 20}, {WideTable()});
  std::vector<uint64_t> rows(48);  // 3 MiB of weights
  std::iota(rows.begin(), rows.end(), 0u);
  for (int pull = 0; pull < 4; ++pull) EXPECT_OK(pulls_->Park(TaskOf(0, rows, /*eval=*/true)));
  EXPECT_FALSE(pulls_->Serve());
  EXPECT_EQ(Take<SendFrames>().size(), 3u);
  EXPECT_TRUE(pulls_->Serve());
  EXPECT_EQ(Take<SendFrames>().size(), 1u);
}

// Under a memory limit an answer is charged until its frames are freed, which is when they are
// sent.
TEST_F(PullsTest, APullWaitsForTheAnswersBeforeItToBeSent) {
  constexpr uint64_t kAnswerBytes = uint64_t{3} << 20;
  const auto memory = std::make_shared<AnswerMemory>(kAnswerBytes + 1, /*workers=*/1);
  OpenPulls({.cache_bytes = uint64_t{16} << 20, .answer_memory = memory}, {WideTable()});
  std::vector<uint64_t> rows(48);
  std::iota(rows.begin(), rows.end(), 0u);
  for (int pull = 0; pull < 2; ++pull) EXPECT_OK(pulls_->Park(TaskOf(0, rows, /*eval=*/true)));
  EXPECT_TRUE(pulls_->Serve());
  EXPECT_TRUE(pulls_->waits_for_room());
  {
    const auto sent = Take<SendFrames>();
    EXPECT_EQ(sent.size(), 1u);
    EXPECT_EQ(memory->used(), kAnswerBytes);
    EXPECT_TRUE(pulls_->Serve());
    EXPECT_TRUE(Take<SendFrames>().empty());
  }
  EXPECT_TRUE(pulls_->Serve());
  EXPECT_FALSE(pulls_->waits_for_room());
  EXPECT_EQ(Take<SendFrames>().size(), 1u);
  EXPECT_EQ(memory->used(), 0u);
}

// A worker that does not read has its share of the answers, and leaves the others theirs.
TEST_F(PullsTest, AWorkerThatDoesNotReadDoesNotKeepOthersWaiting) {
  constexpr uint64_t kAnswerBytes = uint64_t{1} << 20;
  const auto memory = std::make_shared<AnswerMemory>(4 * kAnswerBytes, /*workers=*/2);
  OpenPulls({.workers = 2, .cache_bytes = uint64_t{16} << 20, .answer_memory = memory},
            {WideTable()});
  std::vector<uint64_t> rows(16);
  std::iota(rows.begin(), rows.end(), 0u);
  const auto pull = [&](uint32_t worker) {
    PullTask task = TaskOf(0, rows, /*eval=*/true);
    task.request.header.sender = worker;
    EXPECT_OK(pulls_->Park(std::move(task)));
  };
  for (int i = 0; i < 5; ++i) pull(0);
  EXPECT_TRUE(pulls_->Serve());
  const std::vector<SendFrames> unread = Take<SendFrames>();
  EXPECT_EQ(unread.size(), 2u) << "half of the four";
  EXPECT_TRUE(pulls_->waits_for_room());
  for (int i = 0; i < 2; ++i) pull(1);
  EXPECT_TRUE(pulls_->Serve());
  EXPECT_EQ(Take<SendFrames>().size(), 2u) << "those of the other worker";
  EXPECT_TRUE(pulls_->waits_for_room());
  EXPECT_EQ(memory->used(), 2 * kAnswerBytes);
}

TEST_F(PullsTest, APullThatWasLeftBehindIsRefused) {
  OpenPulls({.first_step = 5});
  EXPECT_OK(pulls_->Park(TaskOf(6, {3}, /*eval=*/true)));
  state_->next_step = 7;
  EXPECT_TRUE(pulls_->Serve());
  EXPECT_TRUE(pulls_->parked().empty());
  EXPECT_EQ(Take<SendFrames>().size(), 1u);
}

}  // namespace
}  // namespace rowhouse
