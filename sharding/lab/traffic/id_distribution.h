// IdDistribution: how the lookups of a table are spread over its rows, and what follows from it:
// distinct rows of a step, and the share of them that a cache holds.
//
// Lookups are assumed to be independent (the independent reference model). A search asks for the
// same figures over and over, so a distribution and its copies remember some thousands of them.
// Threads: const functions may be shared.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sharding/plans/access_counts.h"
#include "sharding/rows/retention.h"

namespace rowhouse {

// What a cache of a table looks like to a run, beside its slots.
struct CacheOfRun {
  Retention keeps;
  // Steps of the run, which begins with an empty cache and rows that nobody has touched; 0: as
  // many as it takes until the shares no longer change.
  double steps = 0;
  double different_steps = 0;  // of them, in one epoch: later epochs repeat them; 0: all
  // How many messages a shard answers in a step, one after the other. It looks up all rows of a
  // message before those that miss come in. 0: each row is a message.
  double messages = 1;
  bool knows_frequencies = false;  // the policy has a file of access counts
};

// Of the distinct rows of a step.
struct RowShares {
  double cached = 0;         // in the cache
  double stored = 0;         // were touched before and are not in the cache: read from the store
  double touched = 0;        // for the first time: made, not read. The three sum to 1
  double steps_to_fill = 0;  // of a run that begins with an empty cache
};

class IdDistribution {
 public:
  // Rows that are looked up equally often.
  struct Group {
    double rows = 0;         // number of them
    double probability = 0;  // of each of them, in one lookup
  };

  IdDistribution() = default;  // of no rows
  static IdDistribution Uniform(double rows);
  // The k-th most frequent of `rows` rows has a share ~ k^-exponent.
  static IdDistribution Zipf(double rows, double exponent);
  // By counts of a table: the hottest rows one by one, the others by ranges. A table without
  // accesses: Uniform.
  static IdDistribution Counted(const TableAccesses& accesses);
  // Any groups, in any order; those of like probability are joined. Shares are scaled to sum to 1.
  static IdDistribution Of(std::vector<Group> groups);

  // The sum of distributions over the same rows, looked up with these weights, whose hot rows are
  // different ones (features that share a table). Requires at least one; weights > 0.
  struct Part {
    const IdDistribution* distribution = nullptr;
    double weight = 0;
  };
  static IdDistribution Mixed(std::span<const Part> parts);

  // The distribution over all ids of several vocabularies, which share no id.
  static IdDistribution Joined(std::span<const Part> parts);

  // The distribution over `rows` rows that ids share: each id has a row drawn at random, as by a
  // hash; or, if `evenly`, all rows have equally many ids, as by a division. Ids meet by chance,
  // hot ones included. *this if there are no fewer rows than ids.
  IdDistribution Hashed(double rows, bool evenly) const;

  // By falling probability; at most a few hundred; rows times probability sum to 1.
  std::span<const Group> groups() const { return groups_; }
  double rows() const { return rows_; }
  // Of each group: ln(1 - probability).
  std::span<const double> decays() const { return decays_; }

  // Expected distinct rows among this many lookups: sum of 1 - (1 - p)^lookups.
  double DistinctRows(double lookups) const;
  // The number of lookups among which DistinctRows(it) == rows; infinity if that takes all rows.
  double LookupsFor(double rows) const;

  // The distribution without its `rows` most frequent rows, which have the share *share of all
  // lookups; scaled to sum to 1.
  IdDistribution Without(double rows, double* share) const;

  // The share of distinct rows that are found in a cache of `slots` rows, when each step looks up
  // `lookups` rows and uses the cache once for each distinct one, in the long run. Rows that
  // are kept by their counts have the slots that a step's misses leave. In [0, 1].
  double HitRate(double slots, double lookups, const Retention& keeps) const;

  // As HitRate, for the mean step of a run that begins with an empty cache and untouched rows.
  RowShares SharesOfRun(double slots, double lookups, const CacheOfRun& use) const;

 private:
  struct Answers;  // given before

  // By falling probability, which is scaled so that all rows' sum is 1.
  explicit IdDistribution(std::vector<Group> groups);

  std::vector<Group> groups_;
  std::vector<double> decays_;
  double rows_ = 0;
  std::shared_ptr<const Answers> answers_;  // of these groups
};

}  // namespace rowhouse
