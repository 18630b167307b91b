// A worker floods a shard. Another one waits for at most a few of its messages, whatever they are,
// and what is refused touches no row. Messages are counted, in the loop that drives shards in
// production; no clock runs.
#include <algorithm>
#include <deque>
#include <future>
#include <thread>

#include "common/transport/peer_name.h"
#include "common/wire/codec.h"
#include "common/wire/control.h"
#include "ps/shard/shard_runner.h"
#include "sharding/plans/plan_maker.h"
#include "tests/testing/frame_of.h"
#include "tests/testing/manual_clock.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

constexpr uint64_t kTurnsJob = 9;
constexpr uint32_t kSound = 0, kFlooder = 1;
constexpr uint32_t kTurnsDim = 128;
constexpr uint64_t kTurnsRows = 20'000;  // an update of all goes on three times
constexpr int kWindowOfPulls = 64;

PeerId PeerOf(uint32_t worker) { return PeerIdOf({.job_id = kTurnsJob, .worker = worker}); }

Header HeaderOfTurn(uint32_t worker, uint64_t step) {
  return {.job_id = kTurnsJob, .step = step, .sender = worker};
}

struct AskedRows {
  uint64_t first = 0;
  uint32_t rows = 1;  // beyond kTurnsRows the first ones again
  uint32_t first_column = 0;

  Frame Ids() const {
    std::vector<uint64_t> ids(rows);
    for (uint32_t i = 0; i < rows; ++i) ids[i] = first + i % kTurnsRows;
    return FrameOf(ids);
  }
  std::vector<TableRows> Tables() const {
    return {{.table = 0, .rows = rows, .first_column = first_column}};
  }
};

Frames PullOfTurn(uint32_t worker, uint64_t step, const AskedRows& rows) {
  Frames payload;
  payload.push_back(rows.Ids());
  payload.push_back(FrameOf(std::vector<uint32_t>(rows.rows, 1)));
  return EncodeMessage(HeaderOfTurn(worker, step),
                       PullRequest{.eval = false, .tables = rows.Tables(), .bags = {}},
                       std::move(payload));
}

Frames PushOfTurn(uint32_t worker, const AskedRows& rows) {
  Frames payload;
  payload.push_back(rows.Ids());
  payload.push_back(FrameOf(std::vector<float>(size_t{rows.rows} * kTurnsDim, 1.0f)));
  payload.push_back(Frame());
  const PushRequest request{
      .learning_rate = 0.1f, .samples = 1, .tables = rows.Tables(), .bags = {}};
  return EncodeMessage(HeaderOfTurn(worker, 0), request, std::move(payload));
}

// What the shard hears: the flooder, always, and in turns with it, as ZeroMQ's queues are read, the
// sound worker, who asks again when it has its answer. Used by the shard's thread, and after
// `ended` by the test's.
class Turns {
 public:
  static constexpr int kHeadStart = 100, kTooMany = 1000;  // of the flooder's messages

  Turns(std::function<Frames()> flood, std::deque<Frames> asked)
      : flood_(std::move(flood)), asked_(std::move(asked)) {}

  std::optional<Incoming> Next() {
    // The last answer, the counters, is made on the store's thread, whose pace is its own.
    if (asked_.empty()) return std::nullopt;
    if (!waits_ && flooded_ >= kHeadStart) {
      Incoming next{.peer = PeerOf(kSound), .frames = std::move(asked_.front())};
      asked_.pop_front();
      waits_ = true;
      between_ = 0;
      return next;
    }
    if (waits_ && ++between_ > kTooMany) End();
    // It takes part in the step, with no rows.
    const bool is_first = flooded_++ == 0;
    return Incoming{.peer = PeerOf(kFlooder),
                    .frames = is_first ? PushOfTurn(kFlooder, {.rows = 0}) : flood_()};
  }
  void OnAnswer(const PeerId& to, Frames frames) {
    Message answer = Unpack(std::move(frames)).value();
    if (to != PeerOf(kSound)) {
      ++between_;
      if (answer.header.type == MessageType::kError) refusals.push_back(std::move(answer));
      return;
    }
    waits_ = false;
    most_between = std::max(most_between, between_);
    answers.push_back(std::move(answer));
    if (asked_.empty()) End();
  }

  std::promise<void> ended;
  std::vector<Message> answers;   // to the sound worker
  std::vector<Message> refusals;  // to the flooder
  // The flooder's that came or were answered while the sound worker waited for one answer.
  int most_between = 0;

 private:
  void End() {
    if (std::exchange(has_ended_, true)) return;
    most_between = std::max(most_between, between_);
    asked_.clear();
    waits_ = false;
    ended.set_value();
  }

  const std::function<Frames()> flood_;
  std::deque<Frames> asked_;
  bool waits_ = false, has_ended_ = false;
  int flooded_ = 0, between_ = 0;
};

class ListenerInTurns final : public Listener {
 public:
  explicit ListenerInTurns(Turns* turns) : turns_(turns) {}

  const std::string& endpoint() const override { return endpoint_; }
  Result<std::optional<Incoming>> Receive(int) override {
    std::optional<Incoming> next = turns_->Next();
    if (!next) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return next;
  }
  Status Send(const PeerId& to, Frames frames) override {
    turns_->OnAnswer(to, std::move(frames));
    return OkStatus();
  }
  void Wake() override {}

 private:
  const std::string endpoint_ = "turns";
  Turns* const turns_;
};

struct FloodCase {
  const char* name;
  const char* refusal;
  AskedRows rows = {};
  uint64_t step = 0;
  int most_between = 2;  // the update goes on after each
  uint64_t pulled = 0;   // rows that the flooder pulls
};

class Flood : public testing::TestWithParam<FloodCase> {};

TEST_P(Flood, KeepsNobodyWaiting) {
  const FloodCase& flood = GetParam();
  TableSpec table;
  table.name = "t";
  table.rows = kTurnsRows;
  table.dim = kTurnsDim;
  table.optimizer = "sgd";
  const std::vector<TableSpec> tables = {table};
  ShardOptions options;
  options.name = "shard 0";
  options.job_id = kTurnsJob;
  options.workers = 2;
  options.node.cache_ratio = 1.0;
  const AskedRows all{.rows = kTurnsRows};
  std::deque<Frames> asked;
  asked.push_back(PullOfTurn(kSound, 0, all));
  asked.push_back(PushOfTurn(kSound, all));
  asked.push_back(PullOfTurn(kSound, 1, all));
  asked.push_back(EncodeMessage(HeaderOfTurn(kSound, 1), StatsRequest{}));
  Turns turns([&] { return PullOfTurn(kFlooder, flood.step, flood.rows); }, std::move(asked));
  const ManualClock clock;
  ShardRunner runner(
      options.name,
      Shard::Make(options, tables, MakeRowWisePlan(tables, 1),
                  InitialiserSources::Open(tables).value())
          .value(),
      std::make_unique<ShardStore>(RowStores().Make("memory", {}).value(), "", tables),
      /*log=*/nullptr,
      [&]() -> Result<std::unique_ptr<Listener>> {
        return std::unique_ptr<Listener>(std::make_unique<ListenerInTurns>(&turns));
      },
      clock);
  ASSERT_OK(runner.Start());
  turns.ended.get_future().wait();
  runner.Stop();

  EXPECT_LE(turns.most_between, flood.most_between);
  ASSERT_EQ(turns.answers.size(), 4u);
  EXPECT_EQ(turns.answers[0].header.type, MessageType::kPullReply);
  EXPECT_EQ(turns.answers[1].header.type, MessageType::kPushReply);
  EXPECT_EQ(turns.answers[2].header.type, MessageType::kPullReply);
  const ShardCounters counted = DecodeBody<StatsReply>(turns.answers[3]).value();
  EXPECT_EQ(counted.pulled.total(), 2 * kTurnsRows + flood.pulled);
  EXPECT_EQ(counted.rows_updated, kTurnsRows);
  ASSERT_FALSE(turns.refusals.empty());
  EXPECT_THAT(DecodeBody<ErrorReply>(turns.refusals[0]).value().message,
              testing::HasSubstr(flood.refusal));
  if (flood.pulled == 0) {
    EXPECT_EQ(turns.refusals.size(), size_t{Refusals::kAtOnce});
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of, Flood,
    testing::Values(FloodCase{.name = "IdsBeyondTheTable",
                              .refusal = "row 20000 does not lie here",
                              .rows = {.first = kTurnsRows}},
                    FloodCase{.name = "WrongWidths",
                              .refusal = "no rows of table 0 lie here from column 3 on",
                              .rows = {.first_column = 3}},
                    // Of which no id is looked at: they lie beyond the table, too.
                    FloodCase{.name = "RequestsOverTheLimit",
                              .refusal = "a pull whose answer takes 67109376 bytes",
                              .rows = {.first = kTurnsRows,
                                       .rows = kMaxFrameBytes / (kTurnsDim * sizeof(float)) + 1}},
                    // Those of the next step wait, as many as a sound worker has under way.
                    FloodCase{.name = "PullsThatWait",
                              .refusal = "worker 1 has 64 pulls under way",
                              .step = 1,
                              .most_between = kWindowOfPulls + 4,
                              .pulled = kWindowOfPulls}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace rowhouse
