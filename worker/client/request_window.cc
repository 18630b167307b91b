#include "worker/client/request_window.h"

#include <glog/logging.h>

#include <utility>

namespace rowhouse {

RequestWindow::RequestWindow(size_t shards, size_t limit)
    : limit_(limit), to_send_(shards), in_flight_(shards) {
  CHECK_GT(limit, 0u);
}

void RequestWindow::Begin(TimeMs patience_ms) {
  CHECK(!busy()) << "one operation at a time";
  patience_ms_ = patience_ms;
}

void RequestWindow::Add(size_t shard, size_t request) {
  to_send_[shard].push_back(request);
  ++unsent_;
}

std::vector<RequestWindow::Request> RequestWindow::Send(TimeMs now, uint64_t* next_id) {
  std::vector<Request> sent;
  if (unsent_ == 0) return sent;
  for (size_t shard = 0; shard < to_send_.size(); ++shard) {
    while (!to_send_[shard].empty() && in_flight_[shard] < limit_) {
      sent.push_back({.shard = shard, .number = to_send_[shard].front(), .id = (*next_id)++});
      to_send_[shard].pop_front();
      --unsent_;
      ++in_flight_[shard];
      unanswered_.emplace(sent.back().id,
                          Unanswered{.request = sent.back(), .deadline = now + patience_ms_});
    }
  }
  return sent;
}

std::optional<RequestWindow::Request> RequestWindow::TakeAnswered(uint64_t id) {
  const auto found = unanswered_.find(id);
  if (found == unanswered_.end()) return std::nullopt;
  const Request request = found->second.request;
  unanswered_.erase(found);
  --in_flight_[request.shard];
  return request;
}

std::optional<size_t> RequestWindow::ExtendDeadline(uint64_t id) {
  const auto found = unanswered_.find(id);
  if (found == unanswered_.end()) return std::nullopt;
  found->second.begins_anew = true;
  return found->second.request.shard;
}

RequestWindow::Tick RequestWindow::OnTick(TimeMs now) {
  Tick tick;
  for (auto& [id, unanswered] : unanswered_) {
    if (std::exchange(unanswered.begins_anew, false)) {
      unanswered.deadline = now + patience_ms_;
      tick.was_extended = true;
    }
    // The oldest of them, so that a run's message does not depend on the map's order.
    const bool is_oldest = !tick.expired || id < tick.expired->id;
    if (now >= unanswered.deadline && is_oldest) tick.expired = unanswered.request;
  }
  return tick;
}

std::optional<TimeMs> RequestWindow::NextDeadline() const {
  std::optional<TimeMs> earliest;
  for (const auto& [id, unanswered] : unanswered_) {
    if (!earliest || unanswered.deadline < *earliest) earliest = unanswered.deadline;
  }
  return earliest;
}

}  // namespace rowhouse
