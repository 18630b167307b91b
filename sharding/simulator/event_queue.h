// EventQueue: what happens next. Events come out by time, and those of equal times in the order in
// which they were added, so that runs repeat. Threads: one.
#pragma once

#include <cstdint>
#include <queue>
#include <tuple>
#include <vector>

namespace rowhouse {

struct SimulatedEvent {
  double ms = 0;  // since the run began
  uint64_t number = 0;
  uint32_t worker = 0;
  uint8_t phase = 0;
};

class EventQueue {
 public:
  // Requires a time that is not before that of the last event that came out.
  void Add(double ms, uint32_t worker, uint8_t phase) {
    events_.push({.ms = ms, .number = added_++, .worker = worker, .phase = phase});
  }
  bool is_empty() const { return events_.empty(); }
  // Requires that there is one.
  SimulatedEvent Next() {
    const SimulatedEvent next = events_.top();
    events_.pop();
    return next;
  }
  uint64_t added() const { return added_; }

 private:
  struct IsLater {
    bool operator()(const SimulatedEvent& a, const SimulatedEvent& b) const {
      return std::tie(a.ms, a.number) > std::tie(b.ms, b.number);
    }
  };
  std::priority_queue<SimulatedEvent, std::vector<SimulatedEvent>, IsLater> events_;
  uint64_t added_ = 0;
};

}  // namespace rowhouse
