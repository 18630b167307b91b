// ReuseSampler: estimates a table's miss ratio under LRU for every cache size, from a sample of its
// rows: SHARDS (Waldspurger, Park, Garthwaite and Ahmad, "Efficient MRC Construction with SHARDS",
// FAST 2015), at a fixed rate, with a fixed number of rows, or both. With all rows it is Mattson's
// stack (Mattson, Gecsei, Slutz and Traiger, 1970) as a tree of times.
//
// A row is sampled if its hash is below a threshold. The threshold falls so that at most a given
// number of rows is followed; distances and counts are scaled by the sampling rate. The hash has no
// seed: the same accesses give the same curve.
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/random.h"
#include "common/types.h"

namespace rowhouse {

// MissRatioCurve: the share of accesses that an LRU cache misses, by the number of rows that it
// holds. An access is one row of one step: steps look up a row once, however many lookups of their
// samples mean it. Threads: const functions may be shared.
struct MissRatioCurve {
  struct Point {
    double rows = 0;        // of the cache
    double miss_ratio = 1;  // [0, 1]
  };
  // By rising rows, falling miss ratio; the first is {0, 1}, the last a cache that misses nothing
  // but first accesses. Empty: nothing was accessed, and all is missed.
  std::vector<Point> points;
  double accesses = 0;       // that it is made of, scaled if rows were sampled
  double distinct_rows = 0;  // likewise
  // Rows that were followed, if not all were. The mean absolute error of miss ratios, over cache
  // sizes from none to all rows, is below kErrorOfOneRow / sqrt(rows_followed): measured on skewed
  // ids and on loops it is a tenth to three quarters of that. It says nothing of caches smaller
  // than distinct_rows / rows_followed * 10. 0: all rows were followed, and the curve is exact but
  // for the width of a bucket of sizes (1 %).
  double rows_followed = 0;
  static constexpr double kErrorOfOneRow = 1.0;

  // Linear between points; beyond the last one as there.
  double MissRatio(double cache_rows) const;
  // The share of accesses that are a row's first: no cache has it. [0, 1]
  double cold_ratio() const { return points.empty() ? 1.0 : points.back().miss_ratio; }
  // Mean absolute error of the miss ratios; 0: exact.
  double error() const;

  nlohmann::ordered_json ToJson() const;
};

class ReuseSampler {
 public:
  // Rows followed; the error of the curve falls with their square root.
  static constexpr size_t kMaxRows = 4096, kMinRows = 64;
  // Memory, bytes: fixed, and for each row followed.
  static constexpr size_t kFixedBytes = 5000, kBytesARow = 128;

  // No bound on the rows followed.
  static constexpr size_t kAllRows = ~size_t{0};

  // `rows`: followed at most, > 0. `rate`: share of the rows that is followed at first, in (0, 1].
  // `per_octave`: buckets of distances between one power of 2 and the next.
  explicit ReuseSampler(size_t rows = kMaxRows, double rate = 1.0, int per_octave = 8);

  // How many rows fit into `bytes`, clamped to [kMinRows, kMaxRows].
  static size_t RowsFor(uint64_t bytes);

  // Whether a sampler of this rate follows the row at first. Who keeps only such rows of some
  // accesses loses nothing for samplers of this rate and lower ones.
  static bool IsSampled(RowId row, double rate) { return HashOf(row) < ThresholdOf(rate); }

  // Notes an access. For a row that is not sampled it costs a hash and a compare.
  void Add(RowId row) {
    accesses_ += 1.0;
    const uint64_t hash = HashOf(row);
    if (hash < threshold_) AddSampled(row, hash);
  }
  // Notes accesses to rows that are not given to Add, because they are not sampled.
  void AddUnsampled(double accesses) { accesses_ += accesses; }

  // Accesses so far, weighted by Age.
  double accesses() const { return accesses_; }

  // Share of accesses that an LRU cache of cache_rows rows would have missed, [0, 1]. The first
  // access of a row is always a miss. 1 before the first access.
  double MissRatio(double cache_rows) const;

  // A copy of MissRatio as it is now; any thread may call it.
  std::function<double(double cache_rows)> Curve() const;
  // The same as points, one a bucket that has accesses.
  MissRatioCurve Points() const;

  // Halves the weight of all accesses so far, so that the curve follows changes.
  void Age();

  size_t rows_followed() const { return last_.size(); }

 private:
  static constexpr uint64_t kHashes = uint64_t{1} << 32;
  static constexpr uint64_t kHashKey = 0x7368617264730a;  // any number would do
  static constexpr size_t kOctaves = 64;

  static uint64_t HashOf(RowId row) { return Mix64(Raw(row) ^ kHashKey) >> 32; }
  static uint64_t ThresholdOf(double rate) {
    return static_cast<uint64_t>(rate * static_cast<double>(kHashes));
  }
  double rate() const { return static_cast<double>(threshold_) / static_cast<double>(kHashes); }
  // Bucket b > 0 has distances in [2^((b - 1) / per_octave), 2^(b / per_octave)).
  static size_t BucketOf(double distance, int per_octave);
  // Sampled accesses that miss in a cache of the first bucket that is not held, by bucket.
  std::vector<double> MissRatios() const;
  void AddSampled(RowId row, uint64_t hash);
  // Fenwick tree over times: 1 where a followed row was last used.
  void Mark(size_t time, int32_t change);
  uint32_t MarkedUpTo(size_t time) const;
  void RenumberTimes();
  void Forget();

  const size_t rows_;
  uint64_t threshold_;  // hashes below are sampled
  double accesses_ = 0.0;
  double sampled_ = 0.0;     // in buckets_ and first_uses_
  double first_uses_ = 0.0;  // sampled
  const int per_octave_;
  std::vector<double> buckets_;                // sampled accesses by distance
  std::unordered_map<uint64_t, size_t> last_;  // row -> time of its last use
  std::set<std::pair<uint64_t, uint64_t>> by_hash_;
  size_t now_ = 0;
  std::vector<uint32_t> tree_;
};

}  // namespace rowhouse
