// IdDistribution: how the lookups of a table are spread over its rows, and what follows from it:
// distinct rows of a step, and the share of them that a cache holds.
//
// Lookups are assumed to be independent (the independent reference model). Threads: const functions
// may be shared.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sharding/plans/access_counts.h"

namespace rowhouse {

class IdDistribution {
 public:
  // Rows that are looked up equally often.
  struct Group {
    double rows = 0;         // number of them
    double probability = 0;  // of each of them, in one lookup
  };

  static IdDistribution Uniform(double rows);
  // The k-th most frequent of `rows` rows has a share ~ k^-exponent.
  static IdDistribution Zipf(double rows, double exponent);
  // By counts of a table: the hottest rows one by one, the others by ranges.
  static IdDistribution Counted(const TableAccesses& accesses);

  // By falling probability; at most a few thousand; rows times probability sum to 1.
  std::span<const Group> groups() const { return groups_; }
  double rows() const { return rows_; }

  // Expected distinct rows among so many lookups: sum of 1 - (1 - p)^lookups.
  double DistinctRows(double lookups) const;

  // The share of distinct rows that are found in a cache of `slots` rows, when each step looks up
  // `lookups` rows and uses the cache once for each distinct one. `policy`: a name in
  // CachePolicies() ("lru", "clock": Che, Tung and Wang, 2002; "lfu", "lrfu", "w_tinylfu",
  // "dataset": the most frequent rows stay, mixed with Che's by what was measured). In [0, 1].
  double HitRate(double slots, double lookups, const std::string& policy) const;

 private:
  std::vector<Group> groups_;
  double rows_ = 0;
};

}  // namespace rowhouse
