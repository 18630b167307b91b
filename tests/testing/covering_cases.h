// Covering arrays: a small set of cases, each with a level for every factor, such that for any
// `strength` factors every combination of their levels occurs in some case. For tests that cannot
// afford all combinations.
#pragma once

#include <algorithm>
#include <cstddef>
#include <set>
#include <vector>

namespace rowhouse {

// A level of each factor.
using FactorLevels = std::vector<size_t>;

// Levels of `strength` factors: the factors' numbers, then their levels.
using LevelCombination = std::vector<size_t>;

inline std::set<LevelCombination> CombinationsOf(const FactorLevels& levels, size_t strength) {
  std::set<LevelCombination> combinations;
  std::vector<bool> is_chosen(levels.size(), false);
  std::fill_n(is_chosen.begin(), strength, true);
  do {
    LevelCombination combination, chosen;
    for (size_t f = 0; f < levels.size(); ++f) {
      if (!is_chosen[f]) continue;
      combination.push_back(f);
      chosen.push_back(levels[f]);
    }
    combination.insert(combination.end(), chosen.begin(), chosen.end());
    combinations.insert(combination);
  } while (std::prev_permutation(is_chosen.begin(), is_chosen.end()));
  return combinations;
}

// Every combination of levels. counts[f]: number of levels of factor f.
inline std::vector<FactorLevels> AllCases(const FactorLevels& counts) {
  std::vector<FactorLevels> cases(1);
  for (const size_t count : counts) {
    std::vector<FactorLevels> longer;
    for (const FactorLevels& levels : cases) {
      for (size_t level = 0; level < count; ++level) {
        longer.push_back(levels);
        longer.back().push_back(level);
      }
    }
    cases = std::move(longer);
  }
  return cases;
}

inline std::set<LevelCombination> CombinationsOfAll(const std::vector<FactorLevels>& cases,
                                                    size_t strength) {
  std::set<LevelCombination> combinations;
  for (const FactorLevels& levels : cases) combinations.merge(CombinationsOf(levels, strength));
  return combinations;
}

// Begins with `first` and adds the candidate that covers the most new combinations (the first of
// several) until no candidate covers a new one.
inline std::vector<FactorLevels> CoveringCases(std::vector<FactorLevels> first,
                                               const std::vector<FactorLevels>& candidates,
                                               size_t strength) {
  std::vector<FactorLevels> cases = std::move(first);
  std::set<LevelCombination> covered = CombinationsOfAll(cases, strength);
  for (;;) {
    size_t most = 0;
    const FactorLevels* best = nullptr;
    for (const FactorLevels& candidate : candidates) {
      const std::set<LevelCombination> all = CombinationsOf(candidate, strength);
      const auto news = static_cast<size_t>(std::count_if(
          all.begin(), all.end(), [&](const auto& one) { return !covered.contains(one); }));
      if (news > most) {
        most = news;
        best = &candidate;
      }
    }
    if (best == nullptr) return cases;
    cases.push_back(*best);
    covered.merge(CombinationsOf(*best, strength));
  }
}

}  // namespace rowhouse
