// GatheringCommunicator: a Communicator of ranks that share memory. Subclasses implement one
// function, Gather.
#pragma once

#include <glog/logging.h>

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "worker/mpi/communicator.h"

namespace rowhouse {

class GatheringCommunicator : public Communicator {
 public:
  Status SumInRankOrder(std::span<float> values, const std::string& phase) final {
    const auto bytes = std::as_bytes(values);
    ASSIGN_OR_RETURN(const auto all, Gather({bytes.begin(), bytes.end()}, phase));
    std::vector<float> addend(values.size());
    for (size_t w = 0; w < all->size(); ++w) {
      const std::vector<std::byte>& message = (*all)[w];
      CHECK_EQ(message.size(), bytes.size()) << "workers sum vectors of different sizes";
      if (message.empty()) continue;
      std::memcpy(w == 0 ? values.data() : addend.data(), message.data(), message.size());
      for (size_t i = 0; w > 0 && i < values.size(); ++i) values[i] += addend[i];
    }
    return OkStatus();
  }

  Result<std::vector<std::vector<std::byte>>> AllGather(std::span<const std::byte> mine,
                                                        const std::string& phase) final {
    ASSIGN_OR_RETURN(const auto all, Gather({mine.begin(), mine.end()}, phase));
    return *all;
  }

 protected:
  using Messages = std::vector<std::vector<std::byte>>;

  // Waits until all ranks have called it; returns the bytes of all, by rank.
  virtual Result<std::shared_ptr<const Messages>> Gather(std::vector<std::byte> mine,
                                                         const std::string& phase) = 0;
};

}  // namespace rowhouse
