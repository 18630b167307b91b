// Ids of distinct types, so that one is not taken for another. A function that another floor calls
// takes ids as these types, never as bare integers.
#pragma once

#include <cstdint>
#include <type_traits>

namespace rowhouse {

enum class RowId : uint64_t {};       // global id of a row within its physical table
enum class TableId : uint32_t {};     // number of a physical table in the model; never reused
enum class ShardId : uint32_t {};     // global over all PS nodes: node * shards_per_node + index
enum class WorkerRank : uint32_t {};  // 0..workers-1, dense; not the MPI rank

// The number behind an id.
template <typename Id>
requires std::is_enum_v<Id>
constexpr std::underlying_type_t<Id> Raw(Id id) {
  return static_cast<std::underlying_type_t<Id>>(id);
}

}  // namespace rowhouse
