// Longest processing time first (Graham, 1969): items of known size dealt to ranks, largest first,
// each to the rank that would be done with it first. The largest load is at most 4/3 - 1/(3 ranks)
// of the best possible one; with capacities at most twice (Gonzalez, Ibarra, Sahni, 1977). Whole
// numbers only, so every rank of a run computes the same. Threads: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rowhouse {

// For each rank the items it gets, in the order given to it: by falling size, equal ones by number.
// `capacities` is one positive weight a rank: an item goes where (load + size) / capacity is least,
// to the lowest such rank. Requires a rank, and less than 2^63 of all sizes together. O(n (log n +
// ranks)).
std::vector<std::vector<uint32_t>> LongestProcessingTime(std::span<const uint64_t> sizes,
                                                         std::span<const uint32_t> capacities);

// No assignment to so many ranks of equal capacity has a smaller largest load: the mean, rounded
// up, or the largest item. Requires items, ranks >= 1 and less than 2^63 of all sizes together.
uint64_t MaxLoadLowerBound(std::span<const uint64_t> sizes, uint32_t ranks);

// The least possible largest load, by branch and bound: at worst every assignment that is not
// another with its ranks renumbered (1.4 million of 12 items). Requires 1 to kMaxItemsToSolve
// items, and the same as MaxLoadLowerBound.
inline constexpr size_t kMaxItemsToSolve = 12;
uint64_t OptimalMaxLoad(std::span<const uint64_t> sizes, uint32_t ranks);

}  // namespace rowhouse
