// Longest processing time first (Graham, 1969): items are assigned to ranks, the largest first,
// each to the rank that would finish it first. If capacities are equal, the largest load is at most
// 4/3 - 1 / (3 ranks) times the least possible; otherwise at most twice (Gonzalez, Ibarra, Sahni,
// 1977). All arithmetic is in whole numbers, so that every rank of a run gets the same result.
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rowhouse {

// The items of each rank, by falling size, equal ones by number. `capacities`: one positive number
// a rank; an item goes to the rank with the least (load + size) / capacity, of equals to the
// lowest. Requires at least one rank and sizes that sum to less than 2^63. O(n (log n + ranks)).
std::vector<std::vector<uint32_t>> LongestProcessingTime(std::span<const uint64_t> sizes,
                                                         std::span<const uint32_t> capacities);

// A lower bound of the largest load over ranks of equal capacity: the mean, rounded up, or the
// largest item. Requires at least one item and rank, and sizes that sum to less than 2^63.
uint64_t MaxLoadLowerBound(std::span<const uint64_t> sizes, uint32_t ranks);

// The least possible largest load, by branch and bound. Assignments that differ only in how ranks
// are numbered count as one, so 12 items have at most 4.2 million. Requires 1 to kMaxItemsToSolve
// items, and what MaxLoadLowerBound requires.
inline constexpr size_t kMaxItemsToSolve = 12;
uint64_t OptimalMaxLoad(std::span<const uint64_t> sizes, uint32_t ranks);

}  // namespace rowhouse
