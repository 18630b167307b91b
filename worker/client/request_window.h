// RequestWindow: the requests of one operation, from waiting for their turn to being answered.
//
// Each shard is sent its requests in the order in which they were added, and has at most `limit`
// unanswered ones. Every request has a deadline, which begins when it is sent, and begins anew when
// the shard says BUSY.
//
// A request is a number that the owner chose; the window knows neither its content nor its bytes.
// Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "common/clock.h"

namespace rowhouse {

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

}  // namespace rowhouse
