// ShardWithStore: a fixture with one shard, its store and one worker, driven message by message.
// Actions of store and log wait until the test carries them out, in order, so that messages can
// arrive between any two of them.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "common/wire/checkpoint.h"
#include "common/wire/codec.h"
#include "common/wire/control.h"
#include "common/wire/pull.h"
#include "ps/shard/shard.h"
#include "ps/shard/shard_store.h"
#include "ps/store/checkpoint_part.h"
#include "sharding/plans/plan_maker.h"
#include "tests/testing/arriving.h"
#include "tests/testing/frame_of.h"
#include "tests/testing/testing.h"

namespace rowhouse {

class ShardWithStore : public testing::Test {
 protected:
  static constexpr uint64_t kRows = 64;

  // Of one table: rows_ rows of one column, trained by sgd.
  void Open(ShardOptions options,
            std::unique_ptr<RowStore> rows = RowStores().Make("memory", {}).value(),
            const std::string& directory = "") {
    TableSpec table;
    table.name = "t";
    table.rows = rows_;
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

  void Handle(ShardEvent event, TimeMs now = 0) {
    for (ShardAction& action : HandleAll(*shard_, std::move(event), now)) {
      if (auto* send = std::get_if<SendFrames>(&action)) {
        Message message = Unpack(std::move(send->frames)).value();
        if (message.header.type == MessageType::kBusy) {
          busy_[message.header.request_id] = DecodeBody<BusyReply>(message).value().message;
        } else {
          answers_[message.header.request_id] = std::move(message);
        }
      } else if (std::holds_alternative<AppendLog>(action) ||
                 std::holds_alternative<TruncateLog>(action)) {
        log_actions_.push_back(std::move(action));
      } else if (const auto* wake = std::get_if<WakeAt>(&action)) {
        wake_at_ = wake->at;
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

  // These functions send a request with a deadline of 1000 ms and return its id.
  uint64_t Pull(uint64_t step, const std::vector<uint64_t>& rows, bool eval = false) {
    Frames payload;
    payload.push_back(FrameOf(rows));
    payload.push_back(eval ? Frame() : FrameOf(std::vector<uint32_t>(rows.size(), 1)));
    const PullRequest request{
        .eval = eval, .tables = {{0, static_cast<uint32_t>(rows.size()), 0}}, .bags = {}};
    return Send({.step = step}, request, std::move(payload));
  }
  // Moves each row by -0.5.
  uint64_t Push(uint64_t step, const std::vector<uint64_t>& rows) {
    return PushPart(step, rows, 0, 1);
  }
  uint64_t PushPart(uint64_t step, const std::vector<uint64_t>& rows, uint32_t part,
                    uint32_t parts) {
    Frames payload;
    payload.push_back(FrameOf(rows));
    payload.push_back(FrameOf(std::vector<float>(rows.size(), 1.0f)));
    payload.push_back(Frame());
    const PushRequest request{.learning_rate = 0.5f,
                              .samples = 1,
                              .tables = {{0, static_cast<uint32_t>(rows.size()), 0}},
                              .bags = {}};
    return Send({.step = step, .part = part, .parts = parts}, request, std::move(payload));
  }
  uint64_t Prefetch(uint64_t step, const std::vector<uint64_t>& rows) {
    Frames payload;
    payload.push_back(FrameOf(rows));
    const PrefetchRequest request{.tables = {{0, static_cast<uint32_t>(rows.size()), 0}}};
    return Send({.step = step}, request, std::move(payload));
  }
  uint64_t Stats(TimeMs now) { return Send({.step = 0}, StatsRequest{}, {}, now); }
  // A save in mid-run, of the rows after so many steps.
  uint64_t Checkpoint(uint64_t steps) {
    return Send({.step = steps},
                CheckpointRequest{.phase = CheckpointPhase::kMark, .name = CheckpointName(steps)},
                {});
  }
  uint64_t Flush(uint64_t steps) { return Send({.step = steps}, FlushRequest{}, {}); }

  // The rows of a pull that was answered.
  std::vector<float> Pulled(uint64_t request) const {
    const Message& message = answers_.at(request);
    CHECK(message.header.type == MessageType::kPullReply);
    const std::span<const float> values = message.payload[0].As<float>();
    return {values.begin(), values.end()};
  }
  bool HasWaited(uint64_t request) const {
    return DecodeBody<PullReply>(answers_.at(request)).value().has_waited;
  }

  static std::vector<uint64_t> AllRows() {
    std::vector<uint64_t> rows(kRows);
    std::iota(rows.begin(), rows.end(), uint64_t{0});
    return rows;
  }
  // Pulled and pushed in step 0, all rows are in the store.
  void StoreAllRows() {
    const uint64_t pull = Pull(0, AllRows());
    CarryOutAll();
    first_ = Pulled(pull);
    Push(0, AllRows());
    CarryOutAll();
    Flush(1);
    CarryOutAll();
  }

  uint64_t rows_ = kRows;
  std::unique_ptr<Shard> shard_;
  std::unique_ptr<ShardStore> store_;
  std::deque<ShardAction> waiting_, log_actions_;
  std::map<uint64_t, Message> answers_;   // by request
  std::map<uint64_t, std::string> busy_;  // by request: what it waits for
  TimeMs wake_at_ = 0;                    // the last time that was asked for
  std::vector<float> first_;              // values of all rows
  const Status full_disk_ = Status(StatusCode::kResourceExhausted, "the disk is full");

 private:
  static constexpr uint64_t kJobId = 9;

  template <typename Request>
  uint64_t Send(Header header, const Request& request, Frames payload, TimeMs now = 0) {
    header.job_id = kJobId;
    header.request_id = ++request_;
    header.deadline_ms = 1000;
    Handle(Arriving(EncodeMessage(header, request, std::move(payload))), now);
    return request_;
  }

  uint64_t request_ = 0;
};

}  // namespace rowhouse
