// PsClient: what one worker asks of the shards, as a state machine: it says which messages to send
// and takes in those that arrive. It has no thread, socket or clock; RunClient drives it over a
// Dialer, the simulation over a network of its own.
//
// Operations: a pull, a push, and a control request (flush, digest, stats, probe), each with a
//             window of its own. One push and one pull may be under way at the same time, say the
//             push of step s and the pull of step s + 1, which the shards answer in this order. A
//             control request runs alone.
// Parts:      what one operation sends to a shard is divided into parts (MessagePart), of which at
//             most `window` are unanswered. Each part has a deadline, which begins anew when the
//             shard says BUSY.
// Errors:     the first failure ends all operations and stays: none begins after it.
// Threads:    one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/frame.h"
#include "common/inquiry/inquiry.h"
#include "common/phase_log.h"
#include "common/status.h"
#include "common/transport/transport.h"
#include "common/types.h"
#include "common/wire/control.h"
#include "common/wire/message_log.h"
#include "sharding/plans/plan.h"
#include "sharding/plans/router.h"
#include "worker/client/operation.h"
#include "worker/client/request_frames.h"
#include "worker/client/row_frames.h"
#include "worker/client/shard_address.h"
#include "worker/embedding/row_batch.h"
#include "worker/mpi/communicator.h"

namespace rowhouse {

// Bytes of the frames that a client sent and took in.
struct MovedBytes {
  explicit MovedBytes(size_t shards) : by_shard(shards) {}

  void Add(size_t shard, const Frames& frames) {
    for (const Frame& frame : frames) {
      all += frame.size();
      by_shard[shard] += frame.size();
    }
  }

  uint64_t all = 0;
  std::vector<uint64_t> by_shard;  // of `all`
};

struct PsClientOptions {
  uint64_t job_id = 0;
  WorkerRank worker{};
  RowPrecision row_precision = {};         // the shards' (JobSpec)
  uint32_t deadline_ms = 60000;            // of a part, from sending to answer
  uint32_t control_deadline_ms = 1800000;  // of flush and digest, which write or read all rows
  uint32_t room_deadline_ms = 1800000;  // how long to wait, in all, for shards whose disk is full
  uint32_t answer_grace_ms = 2000;  // added to a deadline here, so that the shard's own account of
                                    // what is missing arrives first
  size_t window = 4;                // unanswered parts a shard, of each operation
  size_t max_part_rows = 20000;     // see PartLimits
  size_t max_part_bytes = 4 << 20;
  bool push_counts = false;  // pushes say how often each row was looked up: a table has
                             // scale_grad_by_freq
};

class PsClient {
 public:
  using Outgoing = rowhouse::Outgoing;

  // shards[s] is shard s of the plan.
  PsClient(const PsClientOptions& options, const Plan& plan, std::vector<ShardAddress> shards);
  PsClient(const PsClient&) = delete;
  PsClient& operator=(const PsClient&) = delete;

  // Fetches the values of all rows of `rows`, and the pooled vectors of all bags of `bags` (null:
  // none), as they are before `step`. Both stay where they are until is_pull_busy() is false; their
  // rows ascend. Rows that live on the workers are left as they are. `eval`: leaves no trace on the
  // shards. Requires that no pull is under way.
  void StartPull(uint64_t step, bool eval, std::vector<RowBatch>* rows,
                 std::vector<BagBatch>* bags = nullptr);

  // Sends the gradients of all rows of `rows`, and of the bags of the last pull. Every shard is
  // sent a push; it may be empty. `rows` and the bags stay where they are until is_push_busy() is
  // false; a pull that is started before that must be given other batches. Requires that the last
  // pull has ended, and that no push is under way.
  void StartPush(uint64_t step, float learning_rate, uint64_t samples, std::vector<RowBatch>* rows);
  // To be called after a failure: messages of the push under way, if any, may still lend the
  // gradients, which are taken from the batches so that these may go.
  void KeepLentGradients() {
    if (push_.busy()) push_frames_.KeepLent();
  }

  // Tells the shards which rows a coming step will pull: they may read them ahead. Nobody answers.
  void Prefetch(uint64_t step, const std::vector<RowBatch>& rows);

  // Ask every shard. `steps`: the number of applied steps that the request is about.
  void StartFlush(uint64_t steps);
  // One phase of a checkpoint; their order is in common/wire/checkpoint.h.
  void StartCheckpoint(uint64_t steps, CheckpointRequest request);
  void StartDigest(uint64_t steps);
  void StartStats(uint64_t steps);
  void StartProfile(ProfileWish wish);
  // Asks every shard whether its disk is full, or was full within the last `within_ms`. Afterwards
  // busy_message() is what the first such shard said, "" if there is none. The operation ends when
  // every disk has room; it fails if a shard does not answer.
  void StartProbe(uint32_t within_ms);

  // Some operation is under way, and none has failed.
  bool busy() const { return status_.ok() && (pull_.busy() || push_.busy() || control_.busy()); }
  bool is_pull_busy() const { return status_.ok() && pull_.busy(); }
  bool is_push_busy() const { return status_.ok() && push_.busy(); }
  const Status& status() const { return status_; }

  // By shard: when it had answered all of the last pull, from its beginning; nullopt: it was not
  // asked, or has not yet.
  const std::vector<std::optional<TimeMs>>& pull_ms() const { return pull_ms_; }
  // Whether a shard had to read its store for the last pull.
  bool has_pull_waited() const { return pull_frames_.has_waited(); }
  // What the first shard said that was BUSY since all operations under way began; "": none was.
  const std::string& busy_message() const { return busy_wait_.message(); }
  // Of control requests.
  const ControlReplies& replies() const { return control_frames_.replies(); }

  // What may be sent now, in order: prefetches, push, pull, control. Deadlines begin.
  std::vector<Outgoing> TakeOutgoing(TimeMs now);

  void OnMessage(size_t shard, Frames frames);
  // The dialer cannot receive: ends all operations. If `error` begins with the endpoint of a shard,
  // status() names the shard and what it was asked for.
  void OnReceiveError(const Status& error);

  // Fails the operations if a part's deadline has passed (kDeadlineExceeded), or if shards were
  // busy for too long (kResourceExhausted). Logs that they are, at once and every half minute.
  void OnTick(TimeMs now);
  // When OnTick next has something to do; nullopt if nothing is waited for.
  std::optional<TimeMs> NextDeadline() const;

  // For people: what it waits for, a line for each operation and shard.
  std::string DescribeUnanswered(TimeMs now) const;
  // The same for a picture of the run, and the shard whose error ended the operations.
  Waits WaitsAt(TimeMs now) const;

  const std::vector<ShardAddress>& shards() const { return context_.shards; }

  // So far.
  const MovedBytes& moved_bytes() const { return moved_bytes_; }

 private:
  // False: an operation has failed, and no other begins.
  bool Begin(Operation* operation);
  void BeginControl(MessageType type, uint64_t steps, const OperationDeadlines& deadlines);

  const PsClientOptions options_;
  const PartLimits limits_;
  const RequestContext context_;
  const Router router_;

  PullFrames pull_frames_;
  PushFrames push_frames_;
  ControlFrames control_frames_;
  Operation pull_, push_, control_;
  std::optional<TimeMs> pull_began_;
  std::vector<std::optional<TimeMs>> pull_ms_;
  std::optional<size_t> has_answered_pull_;  // a shard, since the last OnTick
  const Operation* last_begun_ = nullptr;

  RowFrames prefetched_rows_;
  std::vector<Outgoing> prefetches_;  // not sent yet
  uint64_t next_request_id_ = 1;
  MovedBytes moved_bytes_;
  BusyWait busy_wait_;
  Status status_;
  std::optional<Wait> refused_;  // what status_ answered, if a shard did
};

// What an operation consists of, for RunClient.
struct ClientPhases {
  PhaseLog* log = nullptr;  // null: nobody asks
  PhaseLog::Phase encode = 0, send = 0, wait = 0, decode = 0;
  MessageLog* messages = nullptr;  // null if `log` is

  // Adds "<operation>/encode" and so on to a log.
  static ClientPhases Of(const std::string& operation, PhaseLog* log, MessageLog* messages);
  void End(PhaseLog::Phase phase) const {
    if (log != nullptr) log->End(phase);
  }
};

// Sends what there is to send, and waits for no answer.
Status SendOutgoing(PsClient& client, Dialer& dialer, const Clock& clock,
                    const ClientPhases& phases = {});

// Sends what there is to send, then sends and receives until no operation is under way. `dialer`
// has the client's shards as its listeners, in order.
Status RunClient(PsClient& client, Dialer& dialer, const Clock& clock,
                 const ClientPhases& phases = {});

// WaitingForRoom: extends a worker's deadline for the other workers while the disk of a shard is
// full.
//
// A worker that has its rows waits for the other workers in a collective operation, in which no
// shard can tell it BUSY. When that deadline passes, this worker asks the shards whether a disk is
// full, or was full while the worker waited (PsClient::StartProbe). If so, the other workers may
// still be waiting for their rows, and the deadline begins anew. Threads: the worker's one.
class WaitingForRoom {
 public:
  // While this lives, `workers` asks it whether to wait on (Communicator::set_patience). All
  // arguments outlive this, and `client` is not busy while the worker waits for the others.
  WaitingForRoom(Communicator& workers, PsClient& client, Dialer& dialer, const Clock& clock);
  ~WaitingForRoom();
  WaitingForRoom(const WaitingForRoom&) = delete;
  WaitingForRoom& operator=(const WaitingForRoom&) = delete;

 private:
  Communicator& workers_;
};

}  // namespace rowhouse
