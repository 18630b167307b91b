// IdStatistics: how the lookups of a column are spread over its ids.
//
// Threads: a pure function.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

namespace rowhouse {

struct IdStatistics {
  uint64_t lookups = 0;
  uint64_t distinct = 0;   // ids
  uint64_t seen_once = 0;  // ids
  // Shares of lookups that are of the 0.1 %, 1 % and 10 % of ids looked up most, at least one id.
  double top_permille = 0, top_percent = 0, top_tenth = 0;
  // Of counts over ranks, by maximum likelihood; 0: all alike, or fewer than 2 ids.
  double zipf_exponent = 0;
};

// How many ids are looked up so many times each, most first.
using IdsByCount = std::map<uint64_t, uint64_t, std::greater<>>;

IdStatistics StatisticsOf(const IdsByCount& ids_by_count);

}  // namespace rowhouse
