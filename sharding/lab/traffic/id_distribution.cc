#include "sharding/lab/traffic/id_distribution.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "sharding/lab/traffic/memo.h"

namespace rowhouse {
namespace {

// Rows whose probabilities differ by less than this factor are taken as alike: the distinct rows
// and hit rates of a group then err by less than a thousandth.
constexpr double kAlike = 1.05;

// 1 - (1 - p)^n, without the cancellation of small p; decay = ln(1 - p).
double Touched(double decay, double lookups) {
  if (decay >= 0.0) return 0.0;  // also of infinitely many lookups
  return lookups > 0 ? -std::expm1(lookups * decay) : 0.0;
}

// Of ranks (from, to], each standing for the density around it.
double ZipfMass(double from, double to, double exponent) {
  const double a = from + 0.5, b = to + 0.5, power = 1.0 - exponent;
  return std::abs(power) < 1e-9 ? std::log(b / a)
                                : (std::pow(b, power) - std::pow(a, power)) / power;
}

// Retention::by_count of every policy that counts, when rows are read ahead; measured by runs.
constexpr double kByCountAhead = 0.15;

}  // namespace

struct IdDistribution::Answers {
  Memo<1, double> distinct_rows{1 << 10};
  Memo<1, double> lookups_for{1 << 12};
  Memo<1, std::pair<IdDistribution, double>> without{1 << 6};
  Memo<9, RowShares> shares_of_run{1 << 13};
};

void IdDistribution::BeginAnswers() {
  decays_.clear();
  for (const Group& group : groups_) {
    decays_.push_back(group.probability >= 1 ? -std::numeric_limits<double>::infinity()
                                             : std::log1p(-std::max(0.0, group.probability)));
  }
  answers_ = std::make_shared<const Answers>();
}

IdDistribution IdDistribution::Of(std::vector<Group> groups) {
  std::erase_if(groups, [](const Group& group) { return group.rows <= 0.0; });
  std::ranges::sort(groups,
                    [](const Group& a, const Group& b) { return a.probability > b.probability; });
  IdDistribution result;
  double mass = 0, first = 0;
  for (const Group& group : groups) {
    result.rows_ += group.rows;
    mass += group.rows * group.probability;
    if (!result.groups_.empty() &&
        (group.probability * kAlike > first || (group.probability == 0 && first == 0))) {
      Group& last = result.groups_.back();
      const double both = last.rows * last.probability + group.rows * group.probability;
      last.rows += group.rows;
      last.probability = both / last.rows;
    } else {
      result.groups_.push_back(group);
      first = group.probability;
    }
  }
  if (mass <= 0) return Uniform(result.rows_);
  for (Group& group : result.groups_) group.probability /= mass;
  result.BeginAnswers();
  return result;
}

IdDistribution IdDistribution::Uniform(double rows) {
  IdDistribution result;
  result.rows_ = std::max(rows, 1.0);
  result.groups_ = {{result.rows_, 1.0 / result.rows_}};
  result.BeginAnswers();
  return result;
}

IdDistribution IdDistribution::Zipf(double rows, double exponent) {
  if (exponent <= 0 || rows <= 1) return Uniform(rows);
  constexpr double kOneByOne = 64;  // ranks; from there on in blocks
  const double growth = std::pow(kAlike, 1.0 / std::max(1.0, exponent));
  std::vector<Group> groups;
  for (double rank = 0; rank < rows;) {
    const double next =
        std::min(rows, rank < kOneByOne ? rank + 1 : std::max(rank + 1, std::floor(rank * growth)));
    const double mass =
        next == rank + 1 ? std::pow(next, -exponent) : ZipfMass(rank, next, exponent);
    groups.push_back({next - rank, mass / (next - rank)});
    rank = next;
  }
  return Of(std::move(groups));
}

IdDistribution IdDistribution::Counted(const TableAccesses& accesses) {
  if (accesses.total() == 0) return Uniform(static_cast<double>(accesses.rows));
  std::vector<double> left(accesses.ranges.begin(), accesses.ranges.end());
  std::vector<Group> groups;
  groups.reserve(left.size() + accesses.hottest.size());
  std::vector<double> rows(left.size(), static_cast<double>(accesses.range_rows));
  rows.back() = static_cast<double>(accesses.rows - (left.size() - 1) * accesses.range_rows);
  for (const TableAccesses::Row& hot : accesses.hottest) {
    groups.push_back({1.0, static_cast<double>(hot.count)});
    const size_t range = hot.row / accesses.range_rows;
    left[range] = std::max(0.0, left[range] - static_cast<double>(hot.count));
    --rows[range];
  }
  for (size_t r = 0; r < left.size(); ++r) {
    if (rows[r] > 0) groups.push_back({rows[r], left[r] / rows[r]});
  }
  return Of(std::move(groups));
}

IdDistribution IdDistribution::Mixed(std::span<const Part> parts) {
  CHECK(!parts.empty());
  if (parts.size() == 1) return *parts[0].distribution;
  // The hot rows of one part are cold rows of the others, whose lookups of them are as those of
  // any row.
  double weights = 0, rows = 0;
  for (const Part& part : parts) {
    weights += part.weight;
    rows = std::max(rows, part.distribution->rows());
  }
  std::vector<Group> groups;
  double hot_rows = 0, cold_share = 0;
  for (const Part& part : parts) {
    const double even = part.weight / weights / part.distribution->rows();
    for (const Group& group : part.distribution->groups()) {
      const double probability = group.probability * part.weight / weights;
      if (probability > 2 * even && hot_rows + group.rows < rows / 2) {
        groups.push_back({group.rows, probability});
        hot_rows += group.rows;
      } else {
        cold_share += group.rows * probability;
      }
    }
  }
  const double cold = cold_share / rows;  // of each row, the hot ones too
  for (Group& group : groups) group.probability += cold;
  if (rows > hot_rows) groups.push_back({rows - hot_rows, cold});
  return Of(std::move(groups));
}

IdDistribution IdDistribution::Joined(std::span<const Part> parts) {
  CHECK(!parts.empty());
  if (parts.size() == 1) return *parts[0].distribution;
  double weights = 0;
  for (const Part& part : parts) weights += part.weight;
  std::vector<Group> groups;
  for (const Part& part : parts) {
    for (const Group& group : part.distribution->groups()) {
      groups.push_back({group.rows, group.probability * part.weight / weights});
    }
  }
  return Of(std::move(groups));
}

// Ids are dealt to rows by falling frequency. Of a group's ids those that come to rows without an
// id so far make new rows, whose hottest ids they are; colder ids are added to each row as many as
// it gets on average.
IdDistribution IdDistribution::Hashed(double rows, bool evenly) const {
  if (rows >= rows_) return *this;
  const double ids_per_row = rows_ / rows;
  // The share of rows that have an id, when so many ids are dealt.
  const auto taken = [&](double ids) {
    return evenly ? 1 - std::pow(std::max(0.0, 1 - ids / rows_), ids_per_row)
                  : -std::expm1(-ids / rows);
  };
  std::vector<Group> groups;
  double dealt = 0, share_left = 1;
  for (const Group& group : groups_) {
    const double new_rows = rows * (taken(dealt + group.rows) - taken(dealt));
    // Of the group itself a new row may get more than one id.
    const double to_new = group.rows * (1 - (taken(dealt) + taken(dealt + group.rows)) / 2);
    dealt += group.rows;
    share_left -= group.rows * group.probability;
    // What a row still gets of colder ids: of an even division it has a place for each.
    const double ids_left = std::max(rows_ - dealt, 1e-9);
    const double to_row = evenly ? std::min(ids_per_row - 1, ids_left) : ids_left / rows;
    const double colder = std::max(0.0, share_left) / ids_left * to_row;
    if (new_rows <= 0) continue;
    groups.push_back({new_rows, std::max(1.0, to_new / new_rows) * group.probability + colder});
  }
  const double empty = rows * (1 - taken(dealt));
  if (empty > 0) groups.push_back({empty, 0});
  return Of(std::move(groups));
}

double IdDistribution::DistinctRows(double lookups) const {
  if (answers_ == nullptr) return 0;
  return answers_->distinct_rows.Get({lookups}, [&] { return CountDistinctRows(lookups); });
}

double IdDistribution::CountDistinctRows(double lookups) const {
  double distinct = 0;
  for (size_t g = 0; g < groups_.size(); ++g) {
    distinct += groups_[g].rows * Touched(decays_[g], lookups);
  }
  return distinct;
}

double IdDistribution::LookupsFor(double rows) const {
  if (answers_ == nullptr) return FindLookupsFor(rows);
  return answers_->lookups_for.Get({rows}, [&] { return FindLookupsFor(rows); });
}

double IdDistribution::FindLookupsFor(double rows) const {
  if (rows <= 0) return 0;
  double possible = 0;
  for (const Group& group : groups_) possible += group.probability > 0 ? group.rows : 0;
  if (rows >= possible * (1 - 1e-9)) return std::numeric_limits<double>::infinity();
  struct Term {
    double rows, decay;  // untouched after n lookups: rows * e^(decay * n)
  };
  std::vector<Term> terms;
  double always = 0;       // rows that any lookup touches
  double first_slope = 0;  // at 0 lookups
  for (size_t g = 0; g < groups_.size(); ++g) {
    const Group& group = groups_[g];
    if (group.probability >= 1) {
      always += group.rows;
    } else if (group.probability > 0) {
      terms.push_back({group.rows, decays_[g]});
      first_slope -= group.rows * decays_[g];
    }
  }
  if (rows <= always || first_slope <= 0) return 1;
  // DistinctRows is concave: below its first slope, from where Newton's steps never pass the root.
  double lookups = (rows - always) / first_slope;
  for (int i = 0; i < 1000; ++i) {
    double missing = rows - always, slope = 0;
    for (const Term& term : terms) {
      const double gone = std::expm1(term.decay * lookups);
      missing += term.rows * gone;
      slope -= term.rows * term.decay * (1 + gone);
    }
    if (missing <= 0 || slope <= 0) break;
    const double step = missing / slope;
    lookups += step;
    if (step < 1e-5 * lookups) break;
  }
  return lookups;
}

IdDistribution IdDistribution::Without(double rows, double* share) const {
  if (answers_ == nullptr) return MakeWithout(rows, share);
  auto answer = answers_->without.Get({rows}, [&] {
    std::pair<IdDistribution, double> made;
    made.first = MakeWithout(rows, &made.second);
    return made;
  });
  *share = answer.second;
  return std::move(answer.first);
}

IdDistribution IdDistribution::MakeWithout(double rows, double* share) const {
  IdDistribution left;
  double mass = 0;
  *share = 0;
  for (const Group& group : groups_) {
    const double taken = std::clamp(rows, 0.0, group.rows);
    rows -= taken;
    *share += taken * group.probability;
    if (group.rows <= taken) continue;
    left.groups_.push_back({group.rows - taken, group.probability});
    left.rows_ += group.rows - taken;
    mass += (group.rows - taken) * group.probability;
  }
  *share = std::min(*share, 1.0);  // Rounding may pass it.
  if (left.groups_.empty()) return Uniform(1);
  if (mass <= 0) return Uniform(left.rows_);
  for (Group& group : left.groups_) group.probability /= mass;
  left.BeginAnswers();
  return left;
}

// Che's approximation: a row is in the cache if it was used in the last T lookups, where
// T is such that as many distinct rows are looked up as the cache has slots. What came in for
// earlier messages of the step is among them.
double IdDistribution::CheHitRate(double slots, double lookups, double messages) const {
  if (messages == 1) return WholeStepHitRate(slots, lookups);
  constexpr double kMaxParts = 4;  // of a step
  const double parts = messages <= 0 ? kMaxParts : std::min(messages, kMaxParts);
  const double first = messages <= kMaxParts && messages > 0 ? 0 : 0.5;  // else of many the middle
  const double characteristic = LookupsFor(slots);
  double hits = 0;
  for (size_t g = 0; g < groups_.size(); ++g) {
    double used = 0;
    for (double part = 0; part < parts; ++part) {
      used += Touched(decays_[g], characteristic - (part + first) / parts * lookups) / parts;
    }
    hits += groups_[g].rows * Touched(decays_[g], lookups) * used;
  }
  return hits / DistinctRows(lookups);
}

// The same where all rows of a step are looked up at once; or of a cache that keeps the steps to
// come, of which it holds as many ahead as LRU holds back. A step that needs more rows than there
// are slots leaves a part of them.
double IdDistribution::WholeStepHitRate(double slots, double lookups) const {
  const double distinct = DistinctRows(lookups);
  const double characteristic = std::max(LookupsFor(slots), lookups);
  const double kept = std::min(1.0, slots / distinct);
  double hits = 0;
  for (size_t g = 0; g < groups_.size(); ++g) {
    hits +=
        groups_[g].rows * Touched(decays_[g], lookups) * Touched(decays_[g], characteristic) * kept;
  }
  return hits / distinct;
}

// The most frequent rows are in the cache.
double IdDistribution::TopHitRate(double slots, double lookups) const {
  double hits = 0;
  for (size_t g = 0; g < groups_.size() && slots > 0; ++g) {
    const double cached = std::min(slots, groups_[g].rows);
    slots -= cached;
    hits += cached * Touched(decays_[g], lookups);
  }
  return hits / DistinctRows(lookups);
}

// The rows that were looked up most often among `seen` lookups are in the cache: counts of a row
// are Poisson, so a row of probability p has c or more with P(Gamma(c) <= p * seen), here by
// Wilson and Hilferty (1931); c is such that as many rows have it as there are slots.
double IdDistribution::CountedHitRate(double slots, double lookups, double seen) const {
  if (!std::isfinite(seen) || slots >= DistinctRows(seen)) return TopHitRate(slots, lookups);
  std::vector<double> roots;
  for (const Group& group : groups_) roots.push_back(std::cbrt(group.probability * seen));
  std::vector<double> has(groups_.size());  // each row of the group so many lookups
  const auto rows_with = [&](double count) {
    const double scale = 3 * std::sqrt(count), of_root = scale / std::cbrt(count);
    const double shift = scale * (1 / (9 * count) - 1);
    double rows = 0;
    for (size_t g = 0; g < groups_.size(); ++g) {
      const double z = of_root * roots[g] + shift;
      has[g] = 1 / (1 + std::exp(-z * (1.5976 + 0.070566 * z * z)));  // the normal law's integral
      rows += groups_[g].rows * has[g];
    }
    return rows;
  };
  double low = 1e-2, high = std::max(1.0, 2 * groups_[0].probability * seen);
  for (int i = 0; i < 16; ++i) {
    const double count = std::sqrt(low * high);
    (rows_with(count) > slots ? low : high) = count;
  }
  rows_with(high);
  double hits = 0;
  for (size_t g = 0; g < groups_.size(); ++g) {
    hits += groups_[g].rows * has[g] * Touched(decays_[g], lookups);
  }
  return hits / DistinctRows(lookups);
}

double IdDistribution::HitRate(double slots, double lookups, const Retention& keeps) const {
  return HitRateOf(slots, lookups, std::numeric_limits<double>::infinity(), {.keeps = keeps});
}

// Rows that come in for a step take slots until others come in for the next one; the rest of the
// cache keeps the rows that were used most, and some of those that were used last.
double IdDistribution::HitRateOf(double slots, double lookups, double seen,
                                 const CacheOfRun& use) const {
  if (lookups <= 0) return 1;
  if (slots <= 0) return 0;
  if (slots >= rows_) return 1;
  const double che = CheHitRate(slots, lookups, use.messages), by_count = use.keeps.by_count;
  if (by_count <= 0) return che;
  if (by_count >= 1) return std::max(che, TopHitRate(slots, lookups));
  constexpr int kRounds = 4;
  constexpr double kTaken = 0.75;  // of such slots; measured, as above
  double top = che;
  for (int i = 0; i < kRounds; ++i) {
    const double fixed = slots - kTaken * (1 - top) * DistinctRows(lookups);
    top = (top + std::max(che, CountedHitRate(std::max(0.0, fixed), lookups, seen))) / 2;
  }
  return che + by_count * (top - che);
}

double IdDistribution::LongRun(double slots, double lookups, const CacheOfRun& use) const {
  if (slots >= rows_) return 1;
  const bool is_blind = use.keeps.is_fixed && !use.knows_frequencies;
  if (use.steps_ahead <= 0) {
    if (is_blind) return BlindHitRate(slots, lookups);
    if (use.steps <= 0) {
      return HitRateOf(slots, lookups, std::numeric_limits<double>::infinity(), use);
    }
    // A policy that counts knows more and more: the mean of a quarter and three of the run.
    double hits = 0;
    for (const double part : {0.25, 0.75}) {
      hits += HitRateOf(slots, lookups, part * use.steps * lookups, use) / 2;
    }
    return hits;
  }
  // Rows of the next steps stay, whatever the policy. The cache then holds about as many steps
  // ahead as LRU holds back, and the policy has little to decide.
  const double ahead = WholeStepHitRate(slots, lookups);
  if (is_blind || use.keeps.by_count <= 0) return ahead;
  return ahead + kByCountAhead * std::max(0.0, TopHitRate(slots, lookups) - ahead);
}

// Rows are ranked by their numbers, which say nothing of them: those of low numbers stay. Other
// rows take turns in as many slots as the rows that come in for one step ever held, as these are
// pinned; a set gets a mean of them and, now and then, two deviations more.
double IdDistribution::BlindHitRate(double slots, double lookups) const {
  constexpr double kWays = 16;
  const double sets = std::max(1.0, slots / kWays);
  const double distinct = DistinctRows(lookups);
  double hits = 0;
  for (int i = 0; i < 20; ++i) {
    const double of_set = (1 - hits) * distinct / sets;
    const double turns = std::clamp(sets * (of_set + 2 * std::sqrt(of_set)), 1.0, slots);
    const double fixed = (slots - turns) / rows_;
    hits = (hits + fixed + (1 - fixed) * WholeStepHitRate(turns, lookups)) / 2;
  }
  return hits;
}

RowShares IdDistribution::SharesOfRun(double slots, double lookups, const CacheOfRun& use) const {
  if (lookups <= 0 || answers_ == nullptr) return {.cached = 1};
  return answers_->shares_of_run.Get(
      {slots, lookups, use.keeps.by_count, use.keeps.is_fixed ? 1.0 : 0.0, use.steps,
       use.different_steps, use.steps_ahead, use.knows_frequencies ? 1.0 : 0.0, use.messages},
      [&] { return FindSharesOfRun(slots, lookups, use); });
}

RowShares IdDistribution::FindSharesOfRun(double slots, double lookups,
                                          const CacheOfRun& use) const {
  RowShares shares;
  const double distinct = DistinctRows(lookups);
  const double in_the_long_run = LongRun(slots, lookups, use);
  if (use.steps <= 0) {
    shares.cached = in_the_long_run;
    shares.stored = 1 - in_the_long_run;
    return shares;
  }
  // Each distinct row of the run is touched for the first time once.
  const double different = use.different_steps > 0 ? use.different_steps : use.steps;
  shares.touched = std::min(1.0, DistinctRows(lookups * different) / (use.steps * distinct));
  // Of an even number of steps the middle one is half of either.
  if (const double middle = (use.steps - 1) / 2; middle < different) {
    const double until = std::min(middle + 1, different);
    shares.touched_midway =
        (DistinctRows(lookups * until) - DistinctRows(lookups * middle)) / distinct;
  }
  // Until as many rows were used as there are slots none is evicted: all but new ones are hits.
  const double steps_to_fill = std::min(use.steps, LookupsFor(slots) / lookups);
  shares.steps_to_fill = steps_to_fill;
  const double touched_by_then = DistinctRows(lookups * steps_to_fill);
  const double hits = std::max(0.0, steps_to_fill * distinct - touched_by_then) +
                      (use.steps - steps_to_fill) * distinct * in_the_long_run;
  shares.cached = std::clamp(hits / (use.steps * distinct), 0.0, 1.0 - shares.touched);
  shares.stored = std::max(0.0, 1 - shares.touched - shares.cached);
  return shares;
}

}  // namespace rowhouse
