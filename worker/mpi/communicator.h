// Communicator: how the workers of a run talk to each other without the parameter server: the
// ordered allreduce of dense gradients, and the gathering of small messages. Calls are collective:
// all ranks make the same calls in the same order.
//
// Threads:   one (MPI is initialised for one).
// Deadlines: every call ends within the deadline given at construction. Then it returns
//            kDeadlineExceeded and names rank, host and phase of the workers that did not come. If
//            a Patience was set and returns true, the wait begins anew instead; each rank decides
//            for itself.
// Exactness: sums are made in rank order, ((g0 + g1) + g2) + ..., so that the sizes of segments and
//            buffers change no bit. MPI_SUM is never used on floats.
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

  // Called by the waiting thread when a wait of `waited_ms` in `phase` has expired; true: wait as
  // long again. May take some time itself.
  using Patience = std::function<bool(uint32_t waited_ms, const std::string& phase)>;
  // Null: none. Must not be called during a collective call.
  void set_patience(Patience patience) { patience_ = std::move(patience); }

  // The ordered allreduce: replaces `values` on every rank by their sums in rank order. All ranks
  // pass the same size. `phase` is for errors: "step 12, dense gradients".
  virtual Status SumInRankOrder(std::span<float> values, const std::string& phase) = 0;

  // Returns every rank's bytes, by rank. Sizes may differ. For small messages and, once an epoch,
  // for predictions.
  virtual Result<std::vector<std::vector<std::byte>>> AllGather(std::span<const std::byte> mine,
                                                                const std::string& phase) = 0;

 protected:
  bool WaitsOn(int64_t waited_ms, const std::string& phase) const {
    return patience_ && patience_(static_cast<uint32_t>(waited_ms), phase);
  }

 private:
  Patience patience_;
};

// The communicator of a run of one worker: a sum over one rank is the rank's own value.
std::unique_ptr<Communicator> MakeSoloCommunicator();

}  // namespace rowhouse
