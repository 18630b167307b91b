// PsClient: one worker's side of pull and push as a state machine: it says which frames to send
// and takes in what arrives. It has no thread, socket or clock; RunClient drives it over a Dialer,
// SimCluster over a simulated network.
//
// Flow:      what goes to a shard in one operation is cut into parts of at most max_part_rows and
//            max_part_bytes; at most `window` parts a shard are unanswered at any time. Every part
//            has a deadline, which begins anew when the shard says BUSY; the first failure ends the
//            operation and stays.
// Order:     one operation at a time; start the next when busy() is false.
// Layout:    rows ascend within a RowBatch. Where slices are ranges of rows, what a shard owns of a
//            batch is one contiguous piece, and moves at once; where the plan scatters rows, or has
//            some of them on the workers, it is a list of places (Routing).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/clock.h"
#include "common/frame.h"
#include "common/status.h"
#include "common/transport/transport.h"
#include "common/types.h"
#include "common/wire/control.h"
#include "common/wire/message.h"
#include "common/wire/pull.h"
#include "sharding/plans/plan.h"
#include "worker/embedding/bag_batch.h"
#include "worker/embedding/row_batch.h"

namespace rowhouse {

// One shard as its clients see it; index in the vector = ShardId = listener index of the Dialer.
struct ShardAddress {
  std::string endpoint;  // "tcp://host:port"
  std::string name;      // "shard 3 (PS node 1, rank 1 on host a, tcp://...)", for people
  uint64_t incarnation = 0;
  std::string host;
  std::string directory;  // of its rows on that host; "" for rows in memory
};

struct PsClientOptions {
  uint64_t job_id = 0;
  WorkerRank worker{};
  uint32_t deadline_ms = 60000;            // of a part of pull or push, from sending to answer
  uint32_t control_deadline_ms = 1800000;  // of flush and digest, which write or read all rows
  // How long an operation waits, in all, for shards that say BUSY: their disk is full.
  uint32_t room_deadline_ms = 1800000;
  uint32_t answer_grace_ms = 2000;  // longer than the deadline a shard is told, so that its own
                                    // account of what is missing arrives first
  size_t window = 4;                // unanswered parts a shard
  size_t max_part_rows = 20000;
  size_t max_part_bytes = 4 << 20;  // of rows and ids
  bool push_counts = false;  // a table has scale_grad_by_freq: pushes carry their rows' lookups
};

class PsClient {
 public:
  PsClient(const PsClientOptions& options, const Plan& plan, std::vector<ShardAddress> shards);

  // Fetches values of all rows of `batches` as they are before `step`. `batches` must stay where
  // it is until busy() is false. `eval`: leave no trace on the shards.
  // `bags`, of tables that the plan pools on the shards, are pooled there; null: none.
  void StartPull(uint64_t step, bool eval, std::vector<RowBatch>* batches,
                 std::vector<BagBatch>* bags = nullptr);

  // Tells shards which rows a step to come will pull; they may read them before. Sent with the
  // operation under way or the next; nobody answers. Not while busy().
  void Prefetch(uint64_t step, const std::vector<RowBatch>& batches);
  // Whether a shard had to read its disk for the last pull.
  bool has_pull_waited() const { return has_pull_waited_; }

  // Sends the gradients of all rows of `batches`, and an empty push to shards that own none.
  // The bags of a push are those of the pull before it, with their gradients.
  void StartPush(uint64_t step, float learning_rate, uint64_t samples,
                 const std::vector<RowBatch>* batches);

  // Asks every shard. `steps`: number of steps applied that the request is about.
  void StartFlush(uint64_t steps);
  void StartDigest(uint64_t steps);
  void StartStats(uint64_t steps);
  // Asks every shard whether its disk is full, or was within `within_ms`: busy_message() says so
  // afterwards. Ends when there is room, or fails if a shard that is not busy says nothing.
  void StartLook(uint32_t within_ms);
  // What the first shard said that was BUSY during the last operation; "": none was.
  const std::string& busy_message() const { return busy_message_; }

  // One a shard, after the operation of that name.
  const std::vector<DigestReply>& digests() const { return digests_; }
  const std::vector<StatsReply>& stats() const { return stats_; }

  bool busy() const { return status_.ok() && unanswered_ + unsent_ > 0; }
  const Status& status() const { return status_; }

  struct Outgoing {
    size_t shard = 0;
    Frames frames;
  };
  // What may be sent now, in order.
  std::vector<Outgoing> TakeOutgoing(TimeMs now);

  void OnMessage(size_t shard, Frames frames);

  // Fails the operation if a part's deadline has passed (kDeadlineExceeded), or if shards were busy
  // for too long (kResourceExhausted). Logs that they are, at once and every half minute.
  void OnTick(TimeMs now);
  // When OnTick next has something to do; nullopt if nothing is waited for.
  std::optional<TimeMs> NextDeadline() const;

  const std::vector<ShardAddress>& shards() const { return shards_; }

  // Bytes of frames sent and taken in so far, over all shards.
  uint64_t bytes_moved() const { return bytes_moved_; }

 private:
  // The batch's rows at places [begin, end) of its deal, columns [first_column, + columns).
  struct Piece {
    size_t batch = 0, begin = 0, end = 0;
    uint32_t first_column = 0, columns = 0;

    size_t rows() const { return end - begin; }
  };
  // A batch's rows, band after band: place p is row `rows[p]`, or p itself where that is empty.
  struct Routing {
    std::vector<uint32_t> rows;
    std::vector<size_t> ends;  // of each band
  };
  // What one shard pools of a BagBatch, for columns [first_column, + columns).
  struct BagGroup {
    size_t batch = 0;
    size_t shard = 0;
    uint32_t first_column = 0, columns = 0;
    bool is_whole = true;           // all lookups of the batch lie there; else:
    std::vector<uint32_t> lookups;  // places in the batch's rows
    std::vector<uint32_t> offsets;  // bags + 1, in `lookups`, or as the batch's
  };
  // Bags [begin, end) of a group.
  struct BagPiece {
    size_t group = 0;
    uint32_t begin = 0, end = 0;
  };
  struct Part {
    size_t shard = 0;
    uint32_t number = 0, count = 1;
    std::vector<Piece> pieces;
    std::vector<BagPiece> bags;
  };
  // The last of the parts of one shard that are being filled.
  struct OpenParts {
    std::vector<Part> parts;
    size_t rows = 0, bytes = 0;  // in the last part
  };
  struct Waiting {
    Part part;
    TimeMs deadline = 0;
    bool begins_anew = false;  // the shard said BUSY; from the next tick on
  };

  void Start(MessageType type, uint64_t step);
  void StartControl(MessageType type, uint64_t steps);
  // Tables on the workers take no part, nor do frozen ones in a push; every shard gets a push, if
  // an empty one.
  void CutIntoParts(const std::vector<RowBatch>& batches, bool is_push);
  void AddRows(const std::vector<RowBatch>& batches, bool is_push, std::vector<OpenParts>* open);
  void AddBags(bool is_push, std::vector<OpenParts>* open) const;
  void GroupBags();
  uint32_t LookupsOf(const BagPiece& piece) const;
  std::vector<TableBags> TableBagsOf(const Part& part) const;
  void EncodeBags(const Part& part, Frames* payload) const;
  void EncodeBagGradients(const Part& part, Frames* payload) const;
  static uint32_t WinnerThere(const BagGroup& group, uint32_t bag, uint32_t winner);
  Status CopyBags(const Part& part, const Frame& sums, const Frame& winners);
  void RouteRows(const RowBatch& batch, Routing* routing) const;
  // Copies the piece's columns of a plane of `width` floats a row to consecutive places, or back.
  void GatherPiece(const Piece& piece, const std::vector<float>& plane, size_t width,
                   float* to) const;
  void ScatterPiece(const Piece& piece, const float* from, size_t width,
                    std::vector<float>* plane) const;
  template <typename T>
  Frame GatherNumbers(const std::vector<RowBatch>& batches, const Part& part,
                      std::vector<T> RowBatch::*column) const;
  static size_t FloatsOf(const Part& part);
  static std::vector<TableRows> TablesOf(const std::vector<RowBatch>& batches, const Part& part);
  bool IsLook() const { return look_within_ms_ > 0; }
  uint32_t DeadlineMs() const;  // of the operation under way
  TimeMs DeadlineFrom(TimeMs now) const;
  void OnBusy(const Message& message, Waiting* waiting);
  void OnBusyTick(TimeMs now);
  Frames Encode(const Part& part, uint64_t request_id) const;
  Header HeaderOf(const Part& part, uint64_t request_id) const;
  Frames EncodePull(const Header& header, const Part& part) const;
  Frames EncodePush(const Header& header, const Part& part) const;
  Status TakeReply(const Part& part, const Message& message);
  Status CopyRows(const Part& part, const Message& message);
  std::string Describe(size_t shard) const;

  const PsClientOptions options_;
  const Plan plan_;
  const std::vector<ShardAddress> shards_;
  std::vector<std::vector<Plan::Band>> bands_;  // of each table

  Status status_;
  std::string busy_message_;
  std::optional<TimeMs> busy_since_, busy_told_at_;  // of the operation under way
  uint32_t look_within_ms_ = 0;                      // of a look; else 0
  MessageType type_ = MessageType::kPull;
  uint64_t step_ = 0;
  bool eval_ = false;
  float learning_rate_ = 0.0f;
  uint64_t samples_ = 0;
  std::vector<RowBatch>* pull_batches_ = nullptr;
  const std::vector<RowBatch>* push_batches_ = nullptr;
  std::vector<BagBatch>* bags_ = nullptr;  // of the last pull
  std::vector<BagGroup> groups_;           // of them
  // Of partial sums, by batch: added up as shards answer, in any order; exact.
  std::vector<std::vector<double>> partial_sums_;

  std::vector<Routing> routings_;  // of each batch of the operation under way

  uint64_t bytes_moved_ = 0;
  uint64_t next_request_id_ = 1;
  std::vector<Outgoing> prefetches_;  // not sent yet
  bool has_pull_waited_ = false;
  std::vector<std::deque<Part>> to_send_;  // by shard
  std::vector<size_t> in_flight_;          // by shard
  size_t unsent_ = 0, unanswered_ = 0;
  std::unordered_map<uint64_t, Waiting> waiting_;  // by request id
  std::vector<DigestReply> digests_;
  std::vector<StatsReply> stats_;
};

// Sends announcements, then sends and receives until the operation under way is done. `dialer` has
// the client's shards as its listeners, in order.
Status RunClient(PsClient& client, Dialer& dialer, const Clock& clock);

}  // namespace rowhouse
