// What all sockets of one ZeroMQ transport share. Threads: any.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <zmq.hpp>

#include "common/frame.h"
#include "common/transport/flood_guard.h"
#include "common/transport/zeromq.h"
#include "common/transport/zeromq_gate.h"

namespace rowhouse {

// ReleaseList: frames that ZeroMQ has sent. Its free callback runs on its I/O thread, which should
// do nothing but move bytes: it pushes the frame here, and threads that use the sockets free it.
//
// A lock-free stack (Treiber, 1986); FreeAll takes the whole of it at once, so there is no ABA.
//
// Threads: all functions, any.
class ReleaseList {
 public:
  // A frame lent to ZeroMQ, until it is returned and freed.
  struct Loan {
    Frame frame;
    ReleaseList* list;
    std::shared_ptr<std::atomic<size_t>> unsent = nullptr;  // bytes lent for the same peer
    Loan* next = nullptr;
  };

  ReleaseList() = default;
  ReleaseList(const ReleaseList&) = delete;
  ReleaseList& operator=(const ReleaseList&) = delete;
  // Every loan must have come back.
  ~ReleaseList() { FreeAll(); }

  // `unsent` counts the frame's bytes until it is freed; null: nothing does.
  Loan* Lend(Frame frame, std::shared_ptr<std::atomic<size_t>> unsent = nullptr) {
    lent_bytes_ += frame.size();
    if (unsent != nullptr) *unsent += frame.size();
    return new Loan{.frame = std::move(frame), .list = this, .unsent = std::move(unsent)};
  }
  // Of the frames that are lent and not freed.
  size_t lent_bytes() const { return lent_bytes_; }

  // A callback as zmq_msg_init_data takes it; `hint` is the Loan. Lock-free.
  static void Return(void* /*data*/, void* hint) {
    auto* loan = static_cast<Loan*>(hint);
    std::atomic<Loan*>& top = loan->list->top_;
    loan->next = top.load(std::memory_order_relaxed);
    while (!top.compare_exchange_weak(loan->next, loan, std::memory_order_release,
                                      std::memory_order_relaxed)) {
    }
  }

  // Frees what has come back. One load when there is nothing.
  void FreeAll() {
    if (top_.load(std::memory_order_relaxed) == nullptr) return;
    Loan* loan = top_.exchange(nullptr, std::memory_order_acquire);
    while (loan != nullptr) {
      const std::unique_ptr<Loan> returned(loan);
      lent_bytes_ -= returned->frame.size();
      if (returned->unsent != nullptr) *returned->unsent -= returned->frame.size();
      loan = returned->next;
    }
  }

 private:
  std::atomic<Loan*> top_ = nullptr;
  std::atomic<size_t> lent_bytes_ = 0;
};

struct ZeroMqContext {
  explicit ZeroMqContext(const ZeroMqOptions& zeromq_options) : options(zeromq_options) {
    if (options.process_bytes > 0) guard.emplace(options.process_bytes);
  }
  // Made by the first listener.
  ZeroMqGate& Gate() {
    std::call_once(gate_is_made, [this] { gate.emplace(zmq, options.security); });
    return *gate;
  }

  const ZeroMqOptions options;
  // Before `zmq`, which returns the last loans when it ends.
  ReleaseList loans;
  zmq::context_t zmq;
  std::once_flag gate_is_made;
  std::optional<ZeroMqGate> gate;
  std::optional<FloodGuard> guard;
};

}  // namespace rowhouse
