// DrivenShard: a shard of one worker over a store, driven request by request on the caller's
// thread: it pulls, trains, saves and is asked for its digest. Actions of store and saves are
// carried out in an order that is drawn, and tried again while the disk is full, as their threads
// do.
#pragma once

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/wire/checkpoint.h"
#include "common/wire/codec.h"
#include "common/wire/control.h"
#include "common/wire/pull.h"
#include "common/wire/push.h"
#include "ps/shard/shard.h"
#include "ps/shard/shard_store.h"
#include "ps/store/checkpoint_part.h"
#include "sharding/plans/job_spec.h"
#include "sharding/rows/rows_digest.h"
#include "tests/testing/arriving.h"
#include "tests/testing/frame_of.h"

namespace rowhouse {

// What a step trains: gradients row by row.
struct TrainedStep {
  std::vector<uint64_t> rows;
  std::vector<float> gradients;
};

class DrivenShard {
 public:
  DrivenShard(ShardOptions options, const JobSpec& job, std::unique_ptr<ShardStore> store,
              std::mt19937_64 random)
      : store_(std::move(store)), random_(random) {
    options.name = "shard 0";
    options.job_id = job_id_ = job.job_id;
    options.first_step = step_ = job.first_step();
    shard_ =
        Shard::Make(options, job.tables, job.plan, InitialiserSources::Open(job.tables).value())
            .value();
  }

  Status TellStored() {
    OpeningProgress progress;
    return store_->TellStored(shard_.get(), &progress);
  }
  // To be called when the disk is full.
  std::function<void()> make_room = [] {};

  Result<std::vector<float>> Pull(const std::vector<uint64_t>& rows, bool eval) {
    Frames payload;
    payload.push_back(FrameOf(rows));
    payload.push_back(eval ? Frame() : FrameOf(std::vector<uint32_t>(rows.size(), 1)));
    ASSIGN_OR_RETURN(const Message answer,
                     Ask(PullRequest{.eval = eval,
                                     .tables = {{0, static_cast<uint32_t>(rows.size()), 0}},
                                     .bags = {}},
                         std::move(payload)));
    const std::span<const float> values = answer.payload[0].As<float>();
    return std::vector<float>(values.begin(), values.end());
  }
  Status Train(const TrainedStep& step) {
    RETURN_IF_ERROR(Pull(step.rows, /*eval=*/false).status());
    Frames payload;
    payload.push_back(FrameOf(step.rows));
    payload.push_back(FrameOf(step.gradients));
    payload.push_back(Frame());
    const PushRequest push{.learning_rate = 0.1f,
                           .samples = 1,
                           .tables = {{0, static_cast<uint32_t>(step.rows.size()), 0}},
                           .bags = {}};
    RETURN_IF_ERROR(Ask(push, std::move(payload)).status());
    ++step_;
    return OkStatus();
  }
  Status BeginSave() {
    return Ask(CheckpointRequest{.phase = CheckpointPhase::kMark, .name = CheckpointName(step_)})
        .status();
  }
  Result<CheckpointReply> EndSave() {
    for (;;) {
      ASSIGN_OR_RETURN(const Message answer, Ask(CheckpointRequest{}));
      auto reply = DecodeBody<CheckpointReply>(answer).value();
      if (!reply.is_under_way) return reply;
      if (!CarryOutOne()) return MakeStatus(StatusCode::kInternal, "the save never ends");
    }
  }
  Result<std::string> Flush() {
    ASSIGN_OR_RETURN(const Message answer, Ask(FlushRequest{}));
    return DecodeBody<FlushReply>(answer).value().stamp;
  }
  Result<std::string> Digest() {
    RowsDigest sum;
    RETURN_IF_ERROR(AddDigest(*store_, &sum));
    return sum.hex();
  }
  static Status AddDigest(ShardStore& store, RowsDigest* sum) {
    const auto scan = std::get<StoreScanned>(store.Execute(ScanStore{1}));
    if (scan.status.ok()) sum->Merge(RowsDigest(scan.digest_high, scan.digest_low));
    return scan.status;
  }
  uint64_t next_step() const { return step_; }

 private:
  template <typename Request>
  Result<Message> Ask(const Request& request, Frames payload = {}) {
    Header header;
    header.job_id = job_id_;
    header.request_id = ++request_;
    header.step = step_;
    Handle(Arriving(EncodeMessage(header, request, std::move(payload))));
    while (!answers_.contains(request_)) {
      if (!CarryOutOne()) return MakeStatus(StatusCode::kInternal, "no answer to a request");
    }
    Message answer = std::move(answers_.extract(request_).mapped());
    if (answer.header.type != MessageType::kError) return answer;
    const auto error = DecodeBody<ErrorReply>(answer).value();
    return Status(static_cast<StatusCode>(error.code), error.message);
  }

  void Handle(ShardEvent event) {
    for (ShardAction& action : HandleAll(*shard_, std::move(event), ++now_)) {
      if (auto* send = std::get_if<SendFrames>(&action)) {
        Message message = Unpack(std::move(send->frames)).value();
        if (message.header.type != MessageType::kBusy) {
          answers_[message.header.request_id] = std::move(message);
        }
      } else if (IsOfSave(action)) {
        of_saves_.push_back(std::move(action));
      } else if (!std::holds_alternative<WakeAt>(action)) {
        of_store_.push_back(std::move(action));
      }
    }
  }

  // False: there is nothing to do.
  bool CarryOutOne() {
    if (of_store_.empty() && of_saves_.empty()) return false;
    if (of_store_.empty() || (!of_saves_.empty() && random_() % 3 == 0)) {
      ShardAction action = std::move(of_saves_.front());
      of_saves_.pop_front();
      Handle(store_->ExecuteSave(std::move(action)));
      return true;
    }
    ShardAction action = std::move(of_store_.front());
    of_store_.pop_front();
    // As the I/O thread does, which waits between its tries.
    constexpr int kTries = 2000;
    for (int tries = 1;; ++tries) {
      ShardEvent event = store_->Execute(action);
      const Status* status = nullptr;
      if (const auto* written = std::get_if<RowsWritten>(&event)) status = &written->status;
      if (const auto* synced = std::get_if<StoreSynced>(&event)) status = &synced->status;
      if (status == nullptr || status->code() != StatusCode::kResourceExhausted ||
          tries == kTries) {
        if (tries > 1) Handle(StoreUnblocked{});
        Handle(std::move(event));
        return true;
      }
      Handle(StoreBlocked{*status});
      if (tries == 3) make_room();
      if (tries > 3) std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
  }

  std::unique_ptr<ShardStore> store_;
  std::unique_ptr<Shard> shard_;
  std::mt19937_64 random_;
  std::deque<ShardAction> of_store_, of_saves_;
  std::map<uint64_t, Message> answers_;
  uint64_t step_ = 0;  // steps pushed, over all runs; the last may not be applied yet
  uint64_t job_id_ = 0, request_ = 0;
  TimeMs now_ = 0;
};

}  // namespace rowhouse
