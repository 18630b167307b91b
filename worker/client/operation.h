// Operation: one pull, push or control request of a worker to all shards, as a state machine: which
// messages may be sent, what their answers do, and when a deadline has passed.
//
// It joins the content of the messages (RequestFrames) with their window and deadlines
// (RequestWindow). One object carries out one operation after the other.
// Threads: one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/frame.h"
#include "common/status.h"
#include "common/types.h"
#include "common/wire/message.h"
#include "worker/client/message_part.h"
#include "worker/client/request_frames.h"
#include "worker/client/request_window.h"
#include "worker/client/shard_address.h"

namespace rowhouse {

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
