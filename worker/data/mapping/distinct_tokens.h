// DistinctTokens: how many different tokens there are, and how many occur once, in bounded memory.
//
// Exact up to kMostKept different tokens. Beyond, tokens are kept whose hash ends in d zero bits,
// and d grows as they become too many (adaptive sampling: Wegman; Flajolet, Computing 43, 1990);
// the standard error of an estimate is then about 1.2 / sqrt(kMostKept), 0.5 %.
//
// Threads: one thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rowhouse {

class DistinctTokens {
 public:
  static constexpr size_t kMostKept = size_t{1} << 16;

  void Add(std::string_view token);
  void AddKey(uint64_t key);  // of tokens that are numbers already

  uint64_t occurrences() const { return occurrences_; }
  uint64_t distinct() const { return kept_.size() << depth_; }
  uint64_t once() const;  // tokens that occur once
  bool is_exact() const { return depth_ == 0; }

  // The different tokens to expect among `occurrences`, if they go on as before: by Heaps' law,
  // d(n) proportional to n^b, with b from the second half of what was added. distinct() if fewer.
  double DistinctAmong(double occurrences) const;

 private:
  void AddHash(uint64_t hash);

  std::unordered_map<uint64_t, uint32_t> kept_;  // hash, occurrences
  int depth_ = 0;
  uint64_t occurrences_ = 0;
  std::vector<std::pair<uint64_t, uint64_t>> history_;  // distinct() after 2^k occurrences
};

}  // namespace rowhouse
