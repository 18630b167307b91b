// Operation: one pull, push or control request of a worker to all shards, as a state machine: which
// messages may be sent, what their answers do, and when a deadline has passed.
//
// It joins the content of the messages (RequestFrames) with their window and deadlines
// (RequestWindow). One object carries out one operation after the other.
// Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/clock.h"
#include "common/frame.h"
#include "common/inquiry/inquiry.h"
#include "common/status.h"
#include "common/types.h"
#include "common/wire/message.h"
#include "worker/client/message_part.h"
#include "worker/client/request_frames.h"
#include "worker/client/shard_address.h"

namespace rowhouse {

// BusyWait: how long a worker has waited for shards that say BUSY because their disk is full. It
// logs that the worker waits, and gives up after a time.
class BusyWait {
 public:
  // limit_ms: how long to wait in all.
  BusyWait(WorkerRank worker, TimeMs limit_ms) : worker_(worker), limit_ms_(limit_ms) {}

  // Nothing is waited for; the next BUSY begins a new wait.
  void Clear() { *this = BusyWait(worker_, limit_ms_); }

  // A shard said so. The first message is kept.
  void OnBusy(const std::string& message) {
    if (message_.empty()) message_ = message;
  }

  // To be called at every tick in which a deadline began anew. Logs the first time and then every
  // half minute, unless `is_silent`. kResourceExhausted after limit_ms.
  Status OnTick(TimeMs now, bool is_silent);

  // What the first shard said since Clear; "": none was busy.
  const std::string& message() const { return message_; }

 private:
  WorkerRank worker_;
  TimeMs limit_ms_;
  std::string message_;
  std::optional<TimeMs> since_, logged_at_;
};

// RequestWindow: the requests of one operation, from waiting for their turn to being answered.
//
// Each shard is sent its requests in the order in which they were added, and has at most `limit`
// unanswered ones. Every request has a deadline, which begins when it is sent, and begins anew when
// the shard says BUSY. A request is a number that the owner chose; the window knows neither its
// content nor its bytes.
class RequestWindow {
 public:
  // limit: unanswered requests a shard, at least 1.
  RequestWindow(size_t shards, size_t limit);

  // Begins an operation whose requests are each answered within `patience_ms`. Requires !busy().
  void Begin(TimeMs patience_ms);
  void Add(size_t shard, size_t request);

  struct Request {
    size_t shard = 0;
    size_t number = 0;  // as added
    uint64_t id = 0;    // on the wire
  };
  // The requests that may be sent now, by shard. Each is sent: its deadline begins at `now`. Takes
  // their ids from *next_id, which it increments.
  std::vector<Request> Send(TimeMs now, uint64_t* next_id);

  // The request with this id, which has been answered; nullopt if none with this id is waited for.
  std::optional<Request> TakeAnswered(uint64_t id);

  // The request's shard, which said BUSY; its deadline begins anew at the next OnTick. nullopt if
  // no request with this id is waited for.
  std::optional<size_t> ExtendDeadline(uint64_t id);

  struct Tick {
    std::optional<Request> expired;  // a request whose deadline has passed, if any
    bool was_extended = false;       // some deadline began anew
  };
  Tick OnTick(TimeMs now);

  // The earliest deadline; nullopt if no request is unanswered.
  std::optional<TimeMs> NextDeadline() const;

  // What is unanswered, by shard.
  struct Waiting {
    size_t requests = 0;
    TimeMs oldest_ms = 0;  // since it was sent, or was last said to be BUSY
  };
  std::map<size_t, Waiting> UnansweredAt(TimeMs now) const;

  // Some request has not been sent or not been answered.
  bool busy() const { return unsent_ > 0 || !unanswered_.empty(); }

 private:
  struct Unanswered {
    Request request;
    TimeMs deadline = 0;
    bool begins_anew = false;
  };

  const size_t limit_;
  TimeMs patience_ms_ = 0;
  std::vector<std::deque<size_t>> to_send_;  // by shard
  std::vector<size_t> in_flight_;            // by shard
  size_t unsent_ = 0;
  std::unordered_map<uint64_t, Unanswered> unanswered_;  // by id
};

// A message on its way to a shard.
struct Outgoing {
  size_t shard = 0;
  Frames frames;
};

// Who sends the requests of a worker, and to whom.
struct RequestContext {
  uint64_t job_id = 0;
  WorkerRank worker{};
  std::vector<ShardAddress> shards;

  Header HeaderOf(const MessagePart& part, uint64_t step, uint64_t request_id,
                  uint32_t deadline_ms) const;
};

struct OperationDeadlines {
  uint32_t told_ms = 0;      // the deadline that the header tells the shard
  uint32_t patience_ms = 0;  // the worker's own, from sending a message to its answer. It is the
                             // longer one, so that the shard can say first what is missing
};

class Operation {
 public:
  // window: unanswered messages a shard. `context` and `frames` outlive this.
  Operation(const RequestContext& context, size_t window, RequestFrames& frames);

  // Begins with the parts into which `frames` divided the operation. Requires !busy().
  void Begin(MessageType type, uint64_t step, const OperationDeadlines& deadlines,
             std::vector<MessagePart> parts);

  // Appends what may be sent now; its deadlines begin. Takes request ids from *next_id.
  void Send(TimeMs now, uint64_t* next_id, std::vector<Outgoing>* outgoing);

  struct Answer {
    Status status;                    // the shard's error, or that of a reply that does not fit
    std::optional<std::string> busy;  // the shard said BUSY, in these words; the reply will follow
  };
  // nullopt: the message answers no request of this operation.
  std::optional<Answer> OnMessage(const Message& message);

  // kDeadlineExceeded, naming the shard, if a deadline has passed. *was_extended: some shard said
  // BUSY since the last tick, and its deadline began anew.
  Status OnTick(TimeMs now, bool* was_extended);
  std::optional<TimeMs> NextDeadline() const { return window_.NextDeadline(); }

  bool busy() const { return window_.busy(); }
  MessageType type() const { return type_; }

  // "worker 1: push of step 5 to shard 3 ...".
  std::string Describe(size_t shard) const;
  // Adds a line for each shard that has not answered.
  void DescribeUnanswered(TimeMs now, std::string* lines) const;
  // The same for a picture of the run.
  void AddWaits(TimeMs now, std::vector<Wait>* waits) const;
  Wait WaitFor(size_t shard, TimeMs ms) const;

 private:
  const RequestContext& context_;
  RequestFrames& frames_;
  RequestWindow window_;
  MessageType type_ = MessageType::kError;
  uint64_t step_ = 0;
  OperationDeadlines deadlines_;
  std::vector<MessagePart> parts_;
};

}  // namespace rowhouse
