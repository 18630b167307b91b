#include "worker/train/worker_steps.h"

#include <cstddef>
#include <cstring>
#include <type_traits>

namespace rowhouse {

static_assert(std::is_trivially_copyable_v<WorkerSteps>, "it travels as bytes");

Result<StepsOfAll> GatherSteps(const WorkerSteps& mine,
                               const std::vector<uint64_t>& my_shard_wire_bytes,
                               Communicator& workers) {
  const size_t shards = my_shard_wire_bytes.size();
  const size_t message_size = sizeof(WorkerSteps) + shards * sizeof(uint64_t);
  std::vector<std::byte> message(message_size);
  std::memcpy(message.data(), &mine, sizeof(mine));
  if (shards > 0) {
    std::memcpy(message.data() + sizeof(mine), my_shard_wire_bytes.data(),
                shards * sizeof(uint64_t));
  }
  ASSIGN_OR_RETURN(const std::vector<std::vector<std::byte>> all,
                   workers.AllGather(message, "the end of training, times and bytes of steps"));
  StepsOfAll steps{.workers = {}, .shard_wire_bytes = std::vector<uint64_t>(shards)};
  for (const std::vector<std::byte>& bytes : all) {
    if (bytes.size() != message_size) {
      return MakeStatus(StatusCode::kInternal,
                        "the end of training: workers know different numbers of shards");
    }
    WorkerSteps its;
    std::memcpy(&its, bytes.data(), sizeof(its));
    steps.workers.push_back(its);
    for (size_t s = 0; s < shards; ++s) {
      uint64_t moved = 0;
      std::memcpy(&moved, bytes.data() + sizeof(its) + s * sizeof(moved), sizeof(moved));
      steps.shard_wire_bytes[s] += moved;
    }
  }
  return steps;
}

}  // namespace rowhouse
