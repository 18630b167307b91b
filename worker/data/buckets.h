// Buckets of numbers, and crosses of columns: the parts of a schema whose tokens no text has
// (worker/data/schema.h).
//
// Edges e[0] < e[1] < ... cut the numbers into buckets: that of v is the number of edges <= v, so n
// edges make n + 1 buckets. Bucket numbers begin at 0. Threads: pure functions, and a Cross is
// const.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "worker/data/batch.h"
#include "worker/data/schema.h"

namespace rowhouse {

inline constexpr uint32_t kMaxBuckets = 1 << 16;
// In a sample of a cross: of bags with 32 tokens each.
inline constexpr size_t kMaxPairs = 1024;

// What CategoricalColumn::edges says.
struct EdgeRule {
  uint64_t quantiles = 0;         // above 0: edges are quantiles of the data, at most this - 1
  std::vector<float> edges = {};  // else: ascending and finite

  uint64_t max_buckets() const { return quantiles > 0 ? quantiles : edges.size() + 1; }
};

// Reads
//   quantiles(N)       N buckets, from 2 to kMaxBuckets, with equally many of the data's numbers in
//                      each, but for equal numbers, which share one
//   log2               one for each floor(log2(v)) from -32 to 63; 0 and negative numbers are in
//                      the lowest
//   floor_log_squared  v < 0; [0, 1); [1, 2); 2; and one for each floor(log(v)^2) of v > 2, up to
//                      500 (5.1e9): as the winners of Criteo's Kaggle challenge of 2014 did (Juan,
//                      Zhuang, Chin and Lin, libffm), where each negative number was a token
//   1,2.5,10           the edges themselves
// kUsage, the rest of a sentence, for another text, and for edges that do not ascend.
Result<EdgeRule> ReadEdges(const std::string& text);

// Whether edges are finite and ascend.
bool AreEdges(std::span<const float> edges);

uint64_t BucketOfNumber(std::span<const float> edges, float number);

// The keys that raw samples have for the numbers of a bucket column.
uint64_t KeyOfNumber(float number);
float NumberOfKey(uint64_t key);

// The keys of a cross column.
class Cross {
 public:
  // Requires the columns that it is of to be in `schema`, those that are buckets with edges.
  Cross(const Schema& schema, size_t column);

  // In each bag a key for each pair of a token of the first column and one of the second, the first
  // one's tokens in the outer loop: MixKey(key, key), where a bucket's key is its number. A sample
  // that lacks one of the two has an empty bag.
  Bags Of(const Batch& raw) const;

 private:
  struct Part {
    size_t column = 0;
    bool is_bucket = false;
    std::vector<float> edges = {};
  };
  std::array<Part, 2> parts_;
};

}  // namespace rowhouse
