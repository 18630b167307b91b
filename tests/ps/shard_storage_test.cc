// A shard and its store, action by action: saves, sweeps, prefetches, the push log, a full disk.
#include <algorithm>
#include <filesystem>
#include <map>

#include "common/durable_file.h"
#include "common/wire/codec.h"
#include "common/wire/control.h"
#include "common/wire/prefetch.h"
#include "ps/log_actions.h"
#include "ps/shard.h"
#include "ps/shard_store.h"
#include "sharding/access_counts.h"
#include "sharding/plan_maker.h"
#include "tests/testing/frame_of.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

constexpr uint64_t kJobId = 9;
constexpr uint64_t kRows = 64;

// One shard of one worker. Its store actions wait until they are carried out, in order.
class ShardStorageTest : public testing::Test {
 protected:
  void Open(ShardOptions options,
            std::unique_ptr<RowStore> rows = RowStores().Make("memory", {}).value(),
            const std::string& directory = "") {
    TableSpec table;
    table.name = "t";
    table.rows = kRows;
    table.dim = 1;
    table.optimizer = "sgd";
    const std::vector<TableSpec> tables = {table};
    options.name = "shard 0";
    options.job_id = kJobId;
    shard_ = Shard::Make(options, tables, MakeRowWisePlan(tables, 1),
                         InitialiserSources::Open(tables).value())
                 .value();
    store_ = std::make_unique<ShardStore>(std::move(rows), directory, tables);
  }

  Header HeaderOf(uint64_t step) {
    Header header;
    header.job_id = kJobId;
    header.request_id = ++request_;
    header.step = step;
    header.deadline_ms = 1000;
    return header;
  }

  void Handle(ShardEvent event, TimeMs now = 0) {
    for (ShardAction& action : shard_->Handle(std::move(event), now)) {
      if (auto* send = std::get_if<SendFrames>(&action)) {
        Message message = Unpack(std::move(send->frames)).value();
        if (message.header.type == MessageType::kBusy) {
          busy_[message.header.request_id] = DecodeBody<BusyReply>(message).value().message;
        } else {
          answers_[message.header.request_id] = std::move(message);
        }
      } else if (auto* wake = std::get_if<WakeAt>(&action)) {
        wake_at_ = wake->at;
      } else if (std::holds_alternative<AppendLog>(action) ||
                 std::holds_alternative<TruncateLog>(action)) {
        log_actions_.push_back(std::move(action));
      } else {
        waiting_.push_back(std::move(action));
      }
    }
  }
  // Carries out the next store action.
  void CarryOutOne() {
    ASSERT_FALSE(waiting_.empty());
    ShardAction action = std::move(waiting_.front());
    waiting_.pop_front();
    Handle(store_->Execute(action));
  }
  void CarryOutAll() {
    while (!waiting_.empty()) CarryOutOne();
  }
  template <typename Action>
  bool IsNext() const {
    return !waiting_.empty() && std::holds_alternative<Action>(waiting_.front());
  }

  uint64_t Pull(uint64_t step, const std::vector<uint64_t>& rows, bool eval = false) {
    Frames payload;
    payload.push_back(FrameOf(rows));
    payload.push_back(eval ? Frame() : FrameOf(std::vector<uint32_t>(rows.size(), 1)));
    const PullRequest request{
        .eval = eval, .tables = {{0, static_cast<uint32_t>(rows.size()), 0}}, .bags = {}};
    Handle(MessageArrived{"peer", EncodeMessage(HeaderOf(step), request, std::move(payload))});
    return request_;
  }
  // Moves each row by -0.5.
  uint64_t Push(uint64_t step, const std::vector<uint64_t>& rows) {
    return PushPart(step, rows, 0, 1);
  }
  uint64_t PushPart(uint64_t step, const std::vector<uint64_t>& rows, uint32_t part,
                    uint32_t parts) {
    Header header = HeaderOf(step);
    header.part = part;
    header.parts = parts;
    Frames payload;
    payload.push_back(FrameOf(rows));
    payload.push_back(FrameOf(std::vector<float>(rows.size(), 1.0f)));
    payload.push_back(Frame());
    const PushRequest request{.learning_rate = 0.5f,
                              .samples = 1,
                              .tables = {{0, static_cast<uint32_t>(rows.size()), 0}},
                              .bags = {}};
    Handle(MessageArrived{"peer", EncodeMessage(header, request, std::move(payload))});
    return request_;
  }
  void Prefetch(uint64_t step, const std::vector<uint64_t>& rows) {
    Frames payload;
    payload.push_back(FrameOf(rows));
    const PrefetchRequest request{.tables = {{0, static_cast<uint32_t>(rows.size()), 0}}};
    Handle(MessageArrived{"peer", EncodeMessage(HeaderOf(step), request, std::move(payload))});
  }
  uint64_t Stats(TimeMs now) {
    Handle(MessageArrived{"peer", EncodeMessage(HeaderOf(0), StatsRequest{}, {})}, now);
    return request_;
  }
  uint64_t Flush(uint64_t steps) {
    Handle(MessageArrived{"peer", EncodeMessage(HeaderOf(steps), FlushRequest{}, {})});
    return request_;
  }
  std::vector<float> Pulled(uint64_t request) const {
    const Message& message = answers_.at(request);
    CHECK(message.header.type == MessageType::kPullReply);
    const std::span<const float> values = message.payload[0].As<float>();
    return {values.begin(), values.end()};
  }
  bool HasWaited(uint64_t request) const {
    return DecodeBody<PullReply>(answers_.at(request)).value().has_waited;
  }
  // Rows 0 .. kRows - 1, pulled and pushed in step 0, are in the store.
  void StoreAllRows() {
    std::vector<uint64_t> rows(kRows);
    for (uint64_t row = 0; row < kRows; ++row) rows[row] = row;
    const uint64_t pull = Pull(0, rows);
    CarryOutAll();
    first_ = Pulled(pull);
    Push(0, rows);
    CarryOutAll();
    Flush(1);
    CarryOutAll();
  }

  std::unique_ptr<Shard> shard_;
  std::unique_ptr<ShardStore> store_;
  std::deque<ShardAction> waiting_, log_actions_;
  std::map<uint64_t, Message> answers_;
  std::map<uint64_t, std::string> busy_;
  std::vector<float> first_;  // values of all rows
  uint64_t request_ = 0;
  TimeMs wake_at_ = 0;
};

TEST_F(ShardStorageTest, ASaveWaitsForRoomBetweenItsPieces) {
  Open({.max_unwritten_bytes = 1});
  std::vector<uint64_t> rows = {1, 2, 3};
  const uint64_t pull = Pull(0, rows);
  CarryOutAll();
  ASSERT_EQ(Pulled(pull).size(), 3u);
  Push(0, rows);
  const uint64_t flush = Flush(1);
  ASSERT_TRUE(IsNext<WriteRows>());
  EXPECT_EQ(waiting_.size(), 1u) << "nothing follows before there is room";
  // The rows of the next step may not get into what is saved as that of this one.
  Push(1, rows);
  EXPECT_EQ(shard_->next_step(), 1u);
  for (int written = 0; written < 3; ++written) {
    ASSERT_TRUE(IsNext<WriteRows>());
    EXPECT_EQ(std::get<WriteRows>(waiting_.front()).writes.at(0).rows.size(), 1u);
    CarryOutOne();
  }
  ASSERT_TRUE(IsNext<SyncStore>());
  EXPECT_EQ(std::get<SyncStore>(waiting_.front()).steps, 1u);
  EXPECT_EQ(shard_->next_step(), 2u) << "all is on its way: the next step may change rows";
  EXPECT_FALSE(answers_.contains(flush));
  CarryOutAll();
  EXPECT_TRUE(answers_.contains(flush));
}

TEST_F(ShardStorageTest, WhoWaitsForAFullDiskIsToldAndWaitsOn) {
  Open({.cache_ratio = 0.1, .max_unwritten_bytes = 1});
  Push(0, {1, 2, 3});
  CarryOutAll();
  const uint64_t flush = Flush(1);
  const Status full(StatusCode::kResourceExhausted, "the disk is full");
  Handle(StoreBlocked{full}, 900);
  EXPECT_THAT(busy_[flush], HasSubstr("shard 0 waits: the disk is full"));
  const uint64_t pull = Pull(1, {40});
  Handle(StoreBlocked{full}, 950);
  EXPECT_THAT(busy_[pull], HasSubstr("the disk is full"));
  Handle(Tick{}, 1940);
  EXPECT_FALSE(answers_.contains(pull)) << "its 1000 ms began anew at 950";
  Handle(StoreUnblocked{});
  CarryOutAll();
  EXPECT_EQ(answers_.at(flush).header.type, MessageType::kFlushReply);
  EXPECT_EQ(Pulled(pull).size(), 1u);
}

// Requests wait 1000 ms.
TEST_F(ShardStorageTest, WhoAsksForCountsIsToldOfAFullDiskWithinTheTimeItWaits) {
  Open({});
  Push(0, {1});
  EXPECT_FALSE(busy_.contains(Stats(5000)));
  const Status full(StatusCode::kResourceExhausted, "the disk is full");
  Handle(StoreBlocked{full}, 5500);
  EXPECT_EQ(busy_[Stats(5501)], "shard 0 waits: the disk is full") << "without a wait";
  Handle(StoreUnblocked{}, 5600);
  EXPECT_EQ(busy_[Stats(6599)], "shard 0 has waited: the disk is full");
  EXPECT_FALSE(busy_.contains(Stats(6600)));
  CarryOutAll();
  EXPECT_EQ(answers_.at(request_).header.type, MessageType::kStatsReply)
      << "step 0 was asked about, step 1 is next";
}

TEST_F(ShardStorageTest, ASweepWritesEveryChangedRowWithinItsSteps) {
  Open({.max_dirty_steps = 4});
  std::map<uint64_t, uint64_t> changed_at;  // rows that are not written yet
  for (uint64_t step = 0; step < 20; ++step) {
    Push(step, {step % kRows, (step * 7) % kRows});
    changed_at.try_emplace(step % kRows, step);
    changed_at.try_emplace((step * 7) % kRows, step);
    while (!waiting_.empty()) {
      if (const auto* write = std::get_if<WriteRows>(&waiting_.front())) {
        for (const StoreWrite& one : write->writes) {
          EXPECT_TRUE(std::is_sorted(one.rows.begin(), one.rows.end()));
          for (const RowId row : one.rows) changed_at.erase(Raw(row));
        }
      }
      CarryOutOne();
    }
    for (const auto& [row, at] : changed_at) EXPECT_LT(step - at, 4u) << "row " << row;
  }
  EXPECT_GT(shard_->stats().rows_swept, 0u);
  EXPECT_EQ(shard_->stats().rows_swept, shard_->stats().rows_written);
}

TEST_F(ShardStorageTest, ARowThatWasNeverWrittenIsNotLookedUp) {
  Open({.cache_ratio = 0.25});
  const uint64_t first = Pull(0, {5, 6, 7});
  EXPECT_TRUE(answers_.contains(first)) << "its first value is known without the store";
  EXPECT_FALSE(HasWaited(first));
  Push(0, {5});
  Flush(1);
  CarryOutAll();
  const uint64_t later = Pull(1, {40, 41});
  EXPECT_TRUE(waiting_.empty());
  EXPECT_TRUE(answers_.contains(later));
  // One that a run before this wrote is.
  shard_->NoteStored(TableId{0}, RowId{50}, 0);
  const uint64_t stored = Pull(1, {50});
  EXPECT_FALSE(answers_.contains(stored));
  CarryOutAll();
  EXPECT_TRUE(HasWaited(stored));
}

// A cache that begins with the hottest rows looks up those that were written, and no others.
TEST_F(ShardStorageTest, RowsThatWereNeverWrittenAreNotReadToWarmACache) {
  AccessCounter counter("t", kRows);
  for (uint64_t row = 0; row < kRows; ++row) counter.Add(row, kRows - row);
  AccessCounts counts;
  counts.tables.push_back(counter.Finish());
  Open({.cache_ratio = 0.25, .cache_frequencies = std::make_shared<AccessCounts>(counts)});
  shard_->NoteStored(TableId{0}, RowId{2}, 0);
  shard_->NoteStored(TableId{0}, RowId{40}, 0);  // Not among the hottest.
  const uint64_t pull = Pull(0, {0, 1, 3});
  EXPECT_TRUE(answers_.contains(pull));
  EXPECT_EQ(shard_->stats().cache_hits, 3u) << "they have their first values";
  ASSERT_EQ(waiting_.size(), 1u);
  const auto& read = std::get<ReadRows>(waiting_.front());
  ASSERT_EQ(read.reads.size(), 1u);
  EXPECT_EQ(read.reads[0].rows, std::vector<RowId>{RowId{2}});
}

TEST_F(ShardStorageTest, AnAnnouncedRowIsThereWhenItIsPulled) {
  Open({.cache_ratio = 0.25, .cache_ways = 16});
  StoreAllRows();
  Prefetch(1, {50, 51});
  ASSERT_TRUE(IsNext<ReadRows>());
  CarryOutAll();
  const uint64_t reads = shard_->stats().pulls_from_store;
  const uint64_t pull = Pull(1, {50, 51});
  ASSERT_TRUE(answers_.contains(pull)) << "no store action may be waited for";
  EXPECT_EQ(Pulled(pull), (std::vector<float>{first_[50] - 0.5f, first_[51] - 0.5f}));
  EXPECT_FALSE(HasWaited(pull));
  EXPECT_EQ(shard_->stats().pulls_from_store, reads);
  EXPECT_EQ(shard_->stats().rows_announced, 2u);
}

// A cache remembers one next use of a row; the shard those after it.
TEST_F(ShardStorageTest, ARowAnnouncedForSeveralStepsIsThereInAllOfThem) {
  for (const bool is_read_first : {true, false}) {
    for (const bool earliest_first : {true, false}) {
      Open({.cache_ratio = 0.25, .cache_ways = 16});
      StoreAllRows();
      std::vector<uint64_t> steps = {1, 4, 9};
      if (!earliest_first) std::ranges::reverse(steps);
      for (const uint64_t step : steps) {
        Prefetch(step, {50});
        if (is_read_first) CarryOutAll();
      }
      CarryOutAll();
      for (uint64_t step = 1; step < 10; ++step) {
        std::vector<uint64_t> rows;  // Half the cache, others in each step.
        for (uint64_t i = 0; i < 8; ++i) rows.push_back((step * 8 + i) % 48);
        std::ranges::sort(rows);
        if (step == 1 || step == 4 || step == 9) {
          const uint64_t pull = Pull(step, {50});
          EXPECT_TRUE(answers_.contains(pull)) << "step " << step;
          CarryOutAll();
        }
        Pull(step, rows);
        CarryOutAll();
        Push(step, rows);
        CarryOutAll();
      }
    }
  }
}

TEST_F(ShardStorageTest, APullOfRowsOnTheirWayReadsThemOnce) {
  Open({.cache_ratio = 0.25, .cache_ways = 16});
  StoreAllRows();
  const std::vector<uint64_t> rows = {50, 51, 52, 53};
  Prefetch(1, rows);
  const uint64_t pull = Pull(1, rows);
  EXPECT_FALSE(answers_.contains(pull));
  uint64_t rows_read = 0;
  while (!waiting_.empty()) {
    if (const auto* read = std::get_if<ReadRows>(&waiting_.front())) {
      for (const StoreRead& one : read->reads) rows_read += one.rows.size();
    }
    CarryOutOne();
  }
  EXPECT_LE(rows_read, rows.size());
  EXPECT_EQ(Pulled(pull)[3], first_[53] - 0.5f);
  EXPECT_TRUE(HasWaited(pull));
}

// The row is read for a later step, then changed and thrown out before the read comes back: what
// was read is older than what was written.
TEST_F(ShardStorageTest, ARowWrittenSinceItWasReadAheadIsReadAgain) {
  Open({.cache_ratio = 1.0 / kRows, .cache_ways = 1});  // room for one row
  StoreAllRows();
  const uint64_t pull = Pull(1, {20});
  while (IsNext<WriteRows>()) CarryOutOne();
  ASSERT_TRUE(IsNext<ReadRows>());
  Prefetch(2, {20});  // Not there yet: read for the pull, and for this.
  CarryOutOne();
  ASSERT_TRUE(answers_.contains(pull));
  ASSERT_TRUE(IsNext<ReadRows>()) << "of the prefetch";
  ShardAction held = std::move(waiting_.front());
  waiting_.pop_front();
  ShardEvent read = store_->Execute(held);
  Push(1, {20});
  ASSERT_EQ(shard_->next_step(), 2u);
  const uint64_t other = Pull(2, {30});  // Takes the place of row 20, which is written.
  CarryOutAll();
  ASSERT_TRUE(answers_.contains(other));
  Handle(std::move(read));
  const uint64_t again = Pull(2, {20});
  CarryOutAll();
  EXPECT_EQ(Pulled(again)[0], first_[20] - 1.0f);
}

TEST_F(ShardStorageTest, AnAnnouncementThatIsWrongOrLateIsIgnored) {
  Open({.cache_ratio = 0.25});
  StoreAllRows();
  Prefetch(0, {50});
  EXPECT_TRUE(waiting_.empty()) << "step 0 is over";
  Prefetch(1, {kRows});
  EXPECT_TRUE(waiting_.empty()) << "no such row";
  EXPECT_FALSE(answers_.contains(request_)) << "nobody is answered";
  const uint64_t pull = Pull(1, {50});
  CarryOutAll();
  EXPECT_EQ(Pulled(pull).size(), 1u);
}

class ShardLogTest : public ShardStorageTest {
 protected:
  void OpenWithLog(uint64_t max_dirty_steps = 0, double cache_ratio = 1.0) {
    Open({.cache_ratio = cache_ratio, .max_dirty_steps = max_dirty_steps, .logs_pushes = true});
    log_ = PushLog::Open({.directory = dir_ / "log"}).value();
  }
  void CarryOutLog() {
    while (!log_actions_.empty()) {
      const ShardAction action = std::move(log_actions_.front());
      log_actions_.pop_front();
      for (ShardEvent& event : CarryOutLogActions(*log_, std::span(&action, 1))) {
        Handle(std::move(event));
      }
    }
  }
  // As StoreAllRows.
  void StoreAllRowsWithLog() {
    std::vector<uint64_t> rows(kRows);
    for (uint64_t row = 0; row < kRows; ++row) rows[row] = row;
    Push(0, rows);
    CarryOutLog();
    Flush(1);
    CarryOutAll();
    CarryOutLog();
  }
  std::vector<uint64_t> LsnsInLog() {
    std::vector<uint64_t> lsns;
    EXPECT_OK(ReadPushLog(dir_ / "log", [&](const LoggedPush& push) {
      lsns.push_back(push.lsn);
      return OkStatus();
    }));
    return lsns;
  }

  TempDir dir_;
  std::unique_ptr<PushLog> log_;
};

TEST_F(ShardLogTest, APushIsAnsweredAndAppliedWhenTheLogHasIt) {
  OpenWithLog();
  const uint64_t push = Push(0, {5});
  EXPECT_FALSE(answers_.contains(push));
  EXPECT_EQ(shard_->next_step(), 0u);
  CarryOutLog();
  EXPECT_EQ(answers_.at(push).header.type, MessageType::kPushReply);
  CarryOutAll();
  EXPECT_EQ(shard_->next_step(), 1u);
  ASSERT_EQ(LsnsInLog(), (std::vector<uint64_t>{1}));
  EXPECT_OK(ReadPushLog(dir_ / "log", [&](const LoggedPush& logged) {
    EXPECT_EQ(logged.sequence, push);
    EXPECT_EQ(logged.learning_rate, 0.5f);
    EXPECT_EQ(logged.frames.size(), 4u);
    EXPECT_EQ(logged.frames[1].size(), sizeof(uint64_t));
    EXPECT_EQ(logged.frames[2].size(), sizeof(float));
    return OkStatus();
  }));
  EXPECT_GT(shard_->stats().log_bytes, 0u);
}

TEST_F(ShardLogTest, IsBlockedWhileItsStoreOrItsLogIs) {
  OpenWithLog(/*max_dirty_steps=*/0, /*cache_ratio=*/0.1);
  StoreAllRowsWithLog();
  const Status full(StatusCode::kResourceExhausted, "the disk is full");
  // Rows announced are read unless the shard is blocked.
  const auto reads_ahead = [&](uint64_t row) {
    Prefetch(shard_->next_step() + 1, {row});
    const bool is_read = IsNext<ReadRows>();
    CarryOutAll();
    return is_read;
  };
  EXPECT_TRUE(reads_ahead(20));
  Handle(StoreBlocked{full, Blocked::kStore});
  Handle(StoreBlocked{full, Blocked::kLog});
  Handle(StoreUnblocked{Blocked::kStore});
  EXPECT_FALSE(reads_ahead(21)) << "the log still waits";
  Handle(StoreBlocked{full, Blocked::kStore});
  Handle(StoreUnblocked{Blocked::kLog});
  EXPECT_FALSE(reads_ahead(21)) << "the store does";
  Handle(StoreUnblocked{Blocked::kStore});
  EXPECT_TRUE(reads_ahead(21));
}

TEST_F(ShardLogTest, APushThatComesTwiceIsAnsweredTwiceAndNotBeforeTheLogHasIt) {
  OpenWithLog();
  const uint64_t first = Push(0, {5});
  const uint64_t second = Push(0, {5});
  EXPECT_EQ(log_actions_.size(), 1u) << "it is logged once";
  EXPECT_FALSE(answers_.contains(first));
  EXPECT_FALSE(answers_.contains(second)) << "the log does not have it";
  Handle(StoreBlocked{Status(StatusCode::kResourceExhausted, "full"), Blocked::kLog});
  EXPECT_TRUE(busy_.contains(first));
  EXPECT_TRUE(busy_.contains(second));
  CarryOutLog();
  EXPECT_EQ(answers_.at(first).header.type, MessageType::kPushReply);
  EXPECT_EQ(answers_.at(second).header.type, MessageType::kPushReply);
  CarryOutAll();
  EXPECT_EQ(shard_->next_step(), 1u);
}

// Of two parts one is in the log.
TEST_F(ShardLogTest, APartThatIsInTheLogIsAnsweredAtOnce) {
  OpenWithLog();
  const uint64_t first = PushPart(0, {5}, 0, 2);
  CarryOutLog();
  EXPECT_TRUE(answers_.contains(first));
  EXPECT_TRUE(answers_.contains(PushPart(0, {5}, 0, 2)));
  EXPECT_TRUE(log_actions_.empty());
  EXPECT_FALSE(answers_.contains(PushPart(0, {6}, 1, 2)));
}

TEST_F(ShardLogTest, ALogThatFailsEndsTheTraining) {
  OpenWithLog();
  const uint64_t push = Push(0, {5});
  const auto ticket = std::get<AppendLog>(log_actions_.front()).ticket;
  Handle(LogAppended{
      .ticket = ticket, .status = Status(StatusCode::kIoError, "no log"), .log_bytes = 0});
  EXPECT_EQ(answers_.at(push).header.type, MessageType::kError);
  EXPECT_EQ(answers_.at(Pull(0, {5})).header.type, MessageType::kError);
}

// The log keeps what the store does not have: after a lap of the sweeper and a sync, no more than
// the steps since the lap began.
TEST_F(ShardLogTest, ASweepLetsTheLogForget) {
  OpenWithLog(/*max_dirty_steps=*/4);
  for (uint64_t step = 0; step < 9; ++step) {
    Push(step, {step});
    CarryOutLog();
    CarryOutAll();
    CarryOutLog();
  }
  // Laps end after steps 4 and 8; the second has written what was changed before step 4.
  const std::vector<uint64_t> lsns = LsnsInLog();
  ASSERT_FALSE(lsns.empty());
  EXPECT_GE(lsns.front(), 1u);
  EXPECT_EQ(lsns.back(), 9u);
  Flush(9);
  CarryOutAll();
  CarryOutLog();
  EXPECT_TRUE(LsnsInLog().empty()) << "all is saved";
}

// ---- Which rows were written, kept beside them ----------------------------------------------

// Rows in files, and how often all of them were read.
class ScanCountingStore final : public RowStore {
 public:
  ScanCountingStore(const std::string& path, int* scans)
      : store_(RowStores().Make("rocksdb", {.path = path}).value()), scans_(scans) {}
  Status Get(const StoreSlice& slice, std::span<const RowId> rows, std::span<std::byte> out,
             std::vector<size_t>* missing) override {
    return store_->Get(slice, rows, out, missing);
  }
  Status Put(const StoreSlice& slice, std::span<const RowId> rows,
             std::span<const std::byte> records) override {
    return store_->Put(slice, rows, records);
  }
  Status Sync() override { return store_->Sync(); }
  Status Scan(const Visitor& visit) override {
    ++*scans_;
    return store_->Scan(visit);
  }
  uint64_t stamp() const override { return store_->stamp(); }

 private:
  const std::unique_ptr<RowStore> store_;
  int* const scans_;
};

class KeptWrittenRowsTest : public ShardStorageTest {
 protected:
  // Rows 0 to 9 pulled and 3, 5 and 7 of them changed by a step, saved, and everything closed.
  void TrainAndSave() {
    OpenRows(0);
    const uint64_t pull = Pull(0, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    CarryOutAll();
    first_ = Pulled(pull);
    Push(0, {3, 5, 7});
    const uint64_t flush = Flush(1);
    CarryOutAll();
    ASSERT_EQ(answers_.at(flush).header.type, MessageType::kFlushReply);
    digest_ = Digest();
    Close();
  }
  void OpenRows(uint64_t first_step, uint64_t cache_bytes = 1 << 20) {
    Open({.first_step = first_step, .cache_bytes = cache_bytes, .keeps_written_rows = true},
         std::make_unique<ScanCountingStore>(dir_ / "rows", &scans_), dir_.path());
  }
  void Close() {
    ASSERT_TRUE(waiting_.empty());
    shard_.reset();
    store_.reset();
  }
  // As a run that goes on does; how often that scanned the rows.
  int ScansOfLoad() {
    OpenRows(1);
    scans_ = 0;
    EXPECT_OK(store_->TellStored(shard_.get()));
    const int scans = scans_;
    EXPECT_EQ(Digest(), digest_);
    return scans;
  }
  std::string Digest() {
    const auto scan = std::get<StoreScanned>(store_->Execute(ScanStore{1000}));
    EXPECT_OK(scan.status);
    return fmt::format("{} rows {:x} {:x}", scan.rows, scan.digest_high, scan.digest_low);
  }
  // Only rows that were written are looked up, and all have the values they were left with.
  void ExpectTheRowsThatWereSaved() {
    const uint64_t never = Pull(1, {0, 1, 2, 4, 6, 8, 9}, /*eval=*/true);
    EXPECT_TRUE(waiting_.empty());
    EXPECT_EQ(Pulled(never), (std::vector<float>{first_[0], first_[1], first_[2], first_[4],
                                                 first_[6], first_[8], first_[9]}));
    const uint64_t changed = Pull(1, {3, 5, 7}, /*eval=*/true);
    EXPECT_TRUE(IsNext<ReadRows>());
    CarryOutAll();
    EXPECT_EQ(Pulled(changed),
              (std::vector<float>{first_[3] - 0.5f, first_[5] - 0.5f, first_[7] - 0.5f}));
  }

  TempDir dir_;
  const std::string file_ = dir_ / "written_rows";
  int scans_ = 0;
  std::string digest_;
};

TEST_F(KeptWrittenRowsTest, GoingOnNeedsNoScan) {
  ASSERT_NO_FATAL_FAILURE(TrainAndSave());
  EXPECT_EQ(ScansOfLoad(), 0);
  ExpectTheRowsThatWereSaved();
  // Nor does going on once more, from more rows.
  const uint64_t pull = Pull(1, {3, 8});
  CarryOutAll();
  Push(1, {3, 8});
  Flush(2);
  CarryOutAll();
  const float changed = Pulled(pull)[1] - 0.5f;
  digest_ = Digest();
  Close();
  EXPECT_EQ(ScansOfLoad(), 0);
  const uint64_t again = Pull(1, {8});
  CarryOutAll();
  EXPECT_EQ(Pulled(again), std::vector<float>{changed});
}

TEST_F(KeptWrittenRowsTest, WhateverIsWrongWithTheFileMeansAScan) {
  ASSERT_NO_FATAL_FAILURE(TrainAndSave());
  const std::string whole = ReadFile(file_).value();
  std::string flipped = whole;
  flipped[whole.size() / 2] ^= 1;
  for (const std::string& text : {flipped, whole.substr(0, whole.size() - 1), std::string()}) {
    ASSERT_OK(WriteFileDurably(file_, text));
    EXPECT_EQ(ScansOfLoad(), 1);
    ExpectTheRowsThatWereSaved();
    Close();
  }
  std::filesystem::remove(file_);
  EXPECT_EQ(ScansOfLoad(), 1);
  ExpectTheRowsThatWereSaved();
  Close();
  ASSERT_OK(WriteFileDurably(file_, whole));
  EXPECT_EQ(ScansOfLoad(), 0);
}

TEST_F(KeptWrittenRowsTest, ARowWrittenSinceIsNotOverlooked) {
  ASSERT_NO_FATAL_FAILURE(TrainAndSave());
  OpenRows(1);
  StoreRead read{.slice = {.record_bytes = 20}, .rows = {RowId{5}}, .records = {}, .missing = {}};
  read.records.resize(20);
  ReadRows reading{.ticket = 1, .reads = {}};
  reading.reads.push_back(std::move(read));
  const auto row5 = std::get<RowsRead>(store_->Execute(std::move(reading)));
  ASSERT_OK(row5.status);
  WriteRows writing{.ticket = 2, .writes = {}};
  writing.writes.push_back(
      {.slice = row5.reads[0].slice, .rows = {RowId{9}}, .records = row5.reads[0].records});
  ASSERT_OK(std::get<RowsWritten>(store_->Execute(std::move(writing))).status);
  ASSERT_OK(std::get<StoreSynced>(store_->Execute(SyncStore{.ticket = 3, .steps = 1})).status);
  digest_ = Digest();
  Close();
  EXPECT_EQ(ScansOfLoad(), 1);
  const uint64_t pull = Pull(1, {9}, /*eval=*/true);
  CarryOutAll();
  EXPECT_EQ(Pulled(pull), std::vector<float>{first_[5] - 0.5f});
}

TEST_F(KeptWrittenRowsTest, ASaveThatCannotKeepThemIsASaveAllTheSame) {
  std::filesystem::create_directories(file_ + ".tmp/in the way");
  ASSERT_NO_FATAL_FAILURE(TrainAndSave());
  EXPECT_FALSE(std::filesystem::exists(file_));
  EXPECT_EQ(ScansOfLoad(), 1);
  ExpectTheRowsThatWereSaved();
}

}  // namespace
}  // namespace rowhouse
