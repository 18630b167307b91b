#include "sharding/lab/traffic/id_distribution.h"

#include <algorithm>
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

// ---- Caches -------------------------------------------------------------------------------------

// Hit rates of a cache of `slots` rows: shares of the distinct rows of a step of `lookups` lookups.
class CacheHits {
 public:
  // All of them outlive this object. Requires lookups > 0.
  CacheHits(const IdDistribution& ids, double slots, double lookups, const CacheOfRun& use)
      : ids_(ids),
        slots_(slots),
        lookups_(lookups),
        use_(use),
        distinct_(ids.DistinctRows(lookups)) {}

  // For the mean step of a run that begins with an empty cache and untouched rows.
  RowShares OfRun() const {
    RowShares shares;
    const double in_the_long_run = LongRun();
    if (use_.steps <= 0) {
      shares.cached = in_the_long_run;
      shares.stored = 1 - in_the_long_run;
      return shares;
    }
    // Each distinct row of the run is touched for the first time once.
    const double different = use_.different_steps > 0 ? use_.different_steps : use_.steps;
    const double pulled = use_.steps * distinct_;
    shares.touched = std::min(1.0, ids_.DistinctRows(lookups_ * different) / pulled);
    // Until as many rows were used as there are slots none is evicted: all but new ones are hits.
    shares.steps_to_fill = std::min(use_.steps, ids_.LookupsFor(slots_) / lookups_);
    const double touched_by_then = ids_.DistinctRows(lookups_ * shares.steps_to_fill);
    const double hits = std::max(0.0, shares.steps_to_fill * distinct_ - touched_by_then) +
                        (use_.steps - shares.steps_to_fill) * distinct_ * in_the_long_run;
    shares.cached = std::clamp(hits / pulled, 0.0, 1.0 - shares.touched);
    shares.stored = std::max(0.0, 1 - shares.touched - shares.cached);
    return shares;
  }

  // Rows that come in for a step take slots until others come in for the next one; the rest of the
  // cache keeps the rows that were used most among `seen` lookups, and some of those that were used
  // last.
  double After(double seen) const {
    if (slots_ <= 0) return 0;
    if (slots_ >= ids_.rows()) return 1;
    const double che = Che(), by_count = use_.keeps.by_count;
    if (by_count <= 0) return che;
    if (by_count >= 1) return std::max(che, MostFrequent(slots_));
    constexpr int kRounds = 4;
    constexpr double kTaken = 0.75;  // of such slots, as measured
    double top = che;
    for (int i = 0; i < kRounds; ++i) {
      const double fixed = slots_ - kTaken * (1 - top) * distinct_;
      top = (top + std::max(che, MostCounted(std::max(0.0, fixed), seen))) / 2;
    }
    return che + by_count * (top - che);
  }

 private:
  // Hits of a step, if each row that it touches is there with this chance.
  template <typename Chance>
  double Mean(const Chance& chance) const {
    double hits = 0;
    for (size_t g = 0; g < ids_.groups().size(); ++g) {
      hits += ids_.groups()[g].rows * Touched(ids_.decays()[g], lookups_) * chance(g);
    }
    return hits / distinct_;
  }

  double LongRun() const {
    if (slots_ >= ids_.rows()) return 1;
    if (use_.keeps.is_fixed && !use_.knows_frequencies) return ByNumber();
    if (use_.steps <= 0) return After(std::numeric_limits<double>::infinity());
    // A policy that counts knows more and more: the mean of a quarter and three of the run.
    const double seen = use_.steps * lookups_;
    return (After(0.25 * seen) + After(0.75 * seen)) / 2;
  }

  // Che's approximation: a row is in the cache if it was used in the last T lookups, where
  // T is such that as many distinct rows are looked up as the cache has slots. What came in for
  // earlier messages of the step is among them.
  double Che() const {
    if (use_.messages == 1) return WholeStep(slots_);
    constexpr double kMaxParts = 4;  // of a step
    const bool is_many = use_.messages <= 0 || use_.messages > kMaxParts;
    const double parts = is_many ? kMaxParts : use_.messages;
    const double first = is_many ? 0.5 : 0;  // of many the middle
    const double characteristic = ids_.LookupsFor(slots_);
    return Mean([&](size_t g) {
      double used = 0;
      for (double part = 0; part < parts; ++part) {
        used += Touched(ids_.decays()[g], characteristic - (part + first) / parts * lookups_);
      }
      return used / parts;
    });
  }

  // The same where all rows of a step are looked up at once. A step that needs more rows than there
  // are slots leaves a part of them.
  double WholeStep(double slots) const {
    const double characteristic = std::max(ids_.LookupsFor(slots), lookups_);
    const double kept = std::min(1.0, slots / distinct_);
    return Mean([&](size_t g) { return Touched(ids_.decays()[g], characteristic) * kept; });
  }

  // The most frequent rows are in the cache.
  double MostFrequent(double slots) const {
    return Mean([&](size_t g) {
      const double cached = std::clamp(slots, 0.0, ids_.groups()[g].rows);
      slots -= cached;
      return cached / ids_.groups()[g].rows;
    });
  }

  // The rows that were looked up most often among `seen` lookups are in the cache: counts of a row
  // are Poisson, so a row of probability p has c or more with P(Gamma(c) <= p * seen), here by
  // Wilson and Hilferty (1931); c is such that as many rows have it as there are slots.
  double MostCounted(double slots, double seen) const {
    if (!std::isfinite(seen) || slots >= ids_.DistinctRows(seen)) return MostFrequent(slots);
    const std::span<const IdDistribution::Group> groups = ids_.groups();
    std::vector<double> roots;
    for (const auto& group : groups) roots.push_back(std::cbrt(group.probability * seen));
    std::vector<double> has(groups.size());  // each row of the group that many lookups
    const auto rows_with = [&](double count) {
      const double scale = 3 * std::sqrt(count), of_root = scale / std::cbrt(count);
      const double shift = scale * (1 / (9 * count) - 1);
      double rows = 0;
      for (size_t g = 0; g < groups.size(); ++g) {
        const double z = of_root * roots[g] + shift;
        has[g] = 1 / (1 + std::exp(-z * (1.5976 + 0.070566 * z * z)));  // the normal law's integral
        rows += groups[g].rows * has[g];
      }
      return rows;
    };
    double low = 1e-2, high = std::max(1.0, 2 * groups[0].probability * seen);
    for (int i = 0; i < 16; ++i) {
      const double count = std::sqrt(low * high);
      (rows_with(count) > slots ? low : high) = count;
    }
    rows_with(high);
    return Mean([&](size_t g) { return has[g]; });
  }

  // Rows are ranked by their numbers, which say nothing of them: those of low numbers stay. Other
  // rows take turns in as many slots as the rows that come in for one step ever held, as these are
  // pinned; a set gets a mean of them and, now and then, two deviations more.
  double ByNumber() const {
    constexpr double kWays = 16;
    const double sets = std::max(1.0, slots_ / kWays);
    double hits = 0;
    for (int i = 0; i < 20; ++i) {
      const double of_set = (1 - hits) * distinct_ / sets;
      const double turns = std::clamp(sets * (of_set + 2 * std::sqrt(of_set)), 1.0, slots_);
      const double fixed = (slots_ - turns) / ids_.rows();
      hits = (hits + fixed + (1 - fixed) * WholeStep(turns)) / 2;
    }
    return hits;
  }

  const IdDistribution& ids_;
  const double slots_, lookups_;
  const CacheOfRun& use_;
  const double distinct_;
};

}  // namespace

struct IdDistribution::Answers {
  Memo<1, double> distinct_rows{1 << 10};
  Memo<1, std::pair<IdDistribution, double>> without{1 << 6};
  Memo<8, RowShares> shares_of_run{1 << 13};
};

IdDistribution::IdDistribution(std::vector<Group> groups)
    : groups_(std::move(groups)), answers_(std::make_shared<const Answers>()) {
  double mass = 0;
  for (const Group& group : groups_) {
    rows_ += group.rows;
    mass += group.rows * group.probability;
  }
  if (mass <= 0) {
    rows_ = mass = std::max(rows_, 1.0);
    groups_ = {{rows_, 1.0}};
  }
  for (Group& group : groups_) {
    group.probability /= mass;
    decays_.push_back(group.probability >= 1 ? -std::numeric_limits<double>::infinity()
                                             : std::log1p(-std::max(0.0, group.probability)));
  }
}

IdDistribution IdDistribution::Of(std::vector<Group> groups) {
  std::erase_if(groups, [](const Group& group) { return group.rows <= 0.0; });
  std::ranges::sort(groups,
                    [](const Group& a, const Group& b) { return a.probability > b.probability; });
  std::vector<Group> joined;
  double first = 0;
  for (const Group& group : groups) {
    if (!joined.empty() &&
        (group.probability * kAlike > first || (group.probability == 0 && first == 0))) {
      Group& last = joined.back();
      const double both = last.rows * last.probability + group.rows * group.probability;
      last.rows += group.rows;
      last.probability = both / last.rows;
    } else {
      joined.push_back(group);
      first = group.probability;
    }
  }
  return IdDistribution(std::move(joined));
}

IdDistribution IdDistribution::Uniform(double rows) {
  return IdDistribution({{std::max(rows, 1.0), 1.0}});
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
  // The share of rows that have an id, when this many ids are dealt.
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
  if (groups_.empty()) return 0;
  return answers_->distinct_rows.Get({lookups}, [&] {
    double distinct = 0;
    for (size_t g = 0; g < groups_.size(); ++g) {
      distinct += groups_[g].rows * Touched(decays_[g], lookups);
    }
    return distinct;
  });
}

double IdDistribution::LookupsFor(double rows) const {
  if (rows <= 0) return 0;
  double possible = 0;
  for (const Group& group : groups_) possible += group.probability > 0 ? group.rows : 0;
  if (rows >= possible * (1 - 1e-9)) return std::numeric_limits<double>::infinity();
  // DistinctRows is concave: from below Newton's steps never pass the root.
  double lookups = 0;
  for (int i = 0; i < 1000; ++i) {
    double missing = rows, slope = 0;
    for (size_t g = 0; g < groups_.size(); ++g) {
      const bool is_always_touched = std::isinf(decays_[g]);
      const double gone = is_always_touched ? -1 : std::expm1(decays_[g] * lookups);
      missing += groups_[g].rows * gone;
      if (!is_always_touched) slope -= groups_[g].rows * decays_[g] * (1 + gone);
    }
    if (missing <= 0 || slope <= 0) break;
    const double step = missing / slope;
    lookups += step;
    if (step < 1e-5 * lookups) break;
  }
  return lookups > 0 ? lookups : 1;
}

IdDistribution IdDistribution::Without(double rows, double* share) const {
  auto [left, of_gone] = answers_->without.Get({rows}, [&] {
    std::vector<Group> groups;
    double gone = rows, of_these = 0;
    for (const Group& group : groups_) {
      const double taken = std::clamp(gone, 0.0, group.rows);
      gone -= taken;
      of_these += taken * group.probability;
      if (group.rows > taken) groups.push_back({group.rows - taken, group.probability});
    }
    return std::pair(IdDistribution(std::move(groups)), of_these);
  });
  *share = std::min(of_gone, 1.0);  // Rounding may pass it.
  return std::move(left);
}

double IdDistribution::HitRate(double slots, double lookups, const Retention& keeps) const {
  if (lookups <= 0) return 1;
  const CacheOfRun use{.keeps = keeps};
  return CacheHits(*this, slots, lookups, use).After(std::numeric_limits<double>::infinity());
}

RowShares IdDistribution::SharesOfRun(double slots, double lookups, const CacheOfRun& use) const {
  if (lookups <= 0 || groups_.empty()) return {.cached = 1};
  return answers_->shares_of_run.Get(
      {slots, lookups, use.keeps.by_count, use.keeps.is_fixed ? 1.0 : 0.0, use.steps,
       use.different_steps, use.knows_frequencies ? 1.0 : 0.0, use.messages},
      [&] { return CacheHits(*this, slots, lookups, use).OfRun(); });
}

}  // namespace rowhouse
