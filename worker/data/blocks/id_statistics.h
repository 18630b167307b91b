// IdStatistics: how the lookups of a column are spread over its ids, in bounded memory.
//
// Up to `max_ids` different ids are counted exactly. If there are more, a second and a third pass
// over the lookups count exactly
//   - frequent ids: those that occur at least twice among max_ids lookups taken at equal distances;
//   - of the others, a random sample of ids: those whose hash is below a bound, which is halved
//     whenever the sample exceeds max_ids (adaptive distinct sampling; Gibbons, 2001), each of
//     which stands for 1 / rate ids.
// With n ids in the sample, the relative standard error of the number of different ids and of those
// seen once is about 1 / sqrt(n), 0.3 % by default; that of shares of top ids is smaller, as most
// of their lookups are counted exactly. The Zipf exponent is that of maximum likelihood for the
// ranks.
//
// Memory: 64 bytes times max_ids. Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rowhouse {

struct IdStatistics {
  uint64_t lookups = 0;
  double distinct = 0;   // ids
  double seen_once = 0;  // ids
  // Shares of lookups that go to the 0.1 %, 1 % and 10 % of ids looked up most, at least one id.
  double top_permille = 0, top_percent = 0, top_tenth = 0;
  double zipf_exponent = 0;  // of counts over ranks; 0: all alike, or fewer than 2 ids
  bool is_exact = true;      // all but the exponent, which is a fit
};

// Counts of ids by open addressing.
class IdCounts {
 public:
  explicit IdCounts(size_t capacity);
  size_t size() const { return size_; }
  // The count of an id, made 0 if it was not there. Requires that it is not UINT64_MAX, and fewer
  // than `capacity` ids.
  uint64_t& operator[](uint64_t id);
  uint64_t* Find(uint64_t id);
  // Keeps the ids for which keep(id, count) is true.
  template <typename Keep>
  void Filter(Keep keep);
  // Calls visit(id, count).
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const Slot& slot : slots_) {
      if (slot.id != kFree) visit(slot.id, slot.count);
    }
  }

 private:
  static constexpr uint64_t kFree = UINT64_MAX;
  struct Slot {
    uint64_t id = kFree, count = 0;
  };
  Slot& SlotOf(uint64_t id);

  std::vector<Slot> slots_;
  size_t size_ = 0;
};

class IdStatisticsCollector {
 public:
  explicit IdStatisticsCollector(size_t max_ids = size_t{1} << 18);

  // Lookups of the column, in order; the same ones in each pass.
  void Add(std::span<const uint64_t> ids);
  // Ends a pass. True: another one is needed.
  bool EndPass();
  // Requires that EndPass has returned false.
  IdStatistics Statistics() const;

 private:
  enum class Pass { kCountAll, kFindFrequent, kCountRest, kDone };
  // `weight` ids that occur `count` times each.
  struct Group {
    uint64_t count;
    double weight;
  };

  void CountSampled(uint64_t id);
  std::vector<Group> Groups() const;  // by count, descending

  const size_t max_ids_;
  Pass pass_ = Pass::kCountAll;
  IdCounts sampled_, frequent_;
  uint64_t hash_below_ = UINT64_MAX;  // ids with a hash up to this are in the sample
  uint64_t lookups_ = 0;              // of this pass
  uint64_t stride_ = 1;               // between lookups that kFindFrequent takes
};

}  // namespace rowhouse
