// Communicator: what the workers of a run say to each other outside the parameter server: dense
// gradients summed in rank order, and small facts everybody must know.
//
// Threads:   one thread (MPI is initialised for one).
// Deadlines: every call ends within the deadline given at construction; on expiry it returns
//            kDeadlineExceeded and names rank, host and phase of those that did not come. Where
//            there is a Patience that says so, the wait begins anew instead: the call is not made
//            again, and each rank decides for itself.
// Exactness: sums are made in rank order, ((g0 + g1) + g2) + ..., so that segment or bucket sizes
//            change no bit; MPI_SUM is never used on floats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/status.h"
#include "common/types.h"

namespace rowhouse {

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual WorkerRank rank() const = 0;
  virtual uint32_t size() const = 0;

  // Asked by the waiting thread when a wait of `waited_ms` in `phase` has expired: whether to wait
  // as long again. May itself take a while.
  using Patience = std::function<bool(uint32_t waited_ms, const std::string& phase)>;
  // Null: none. Not during a call.
  void set_patience(Patience patience) { patience_ = std::move(patience); }

  // Replaces `values` on every rank by their sums over ranks in rank order. All ranks pass the
  // same size. `phase` says in an error what was going on: "step 12, dense gradients".
  virtual Status SumInRankOrder(std::span<float> values, const std::string& phase) = 0;

  // Every rank's bytes, in rank order, on every rank. Sizes may differ; meant for small messages
  // and, once an epoch, for predictions.
  virtual Result<std::vector<std::vector<std::byte>>> AllGather(std::span<const std::byte> mine,
                                                                const std::string& phase) = 0;

 protected:
  bool WaitsOn(int64_t waited_ms, const std::string& phase) const {
    return patience_ && patience_(static_cast<uint32_t>(waited_ms), phase);
  }

 private:
  Patience patience_;
};

// A run of one worker.
std::unique_ptr<Communicator> MakeSoloCommunicator();

}  // namespace rowhouse
