// W-TinyLFU (Einziger, Friedman and Manes, 2017): a new row first lives in a small window (LRU).
// Rows beyond the window's share go on probation, the first segment of a segmented LRU, and are
// protected when they are used again. If a row must be evicted, a row that leaves the window is
// compared with the last one on probation: the one with fewer lookups goes.
//
// Of the candidates 1 in 64, at least one, is in the window; 4 in 5 of the others may be protected.
// The lookups that each record counts replace the paper's sketch; a count halves with every
// half-life (64 uses a slot) without a use.
#include <algorithm>
#include <cmath>
#include <optional>

#include "ps/cache/cache_policy.h"
#include "ps/cache/half_life.h"

namespace rowhouse {
namespace {

enum Segment : uint8_t { kWindow, kProbation, kProtected };

// State: a segment, and the order of uses within a step as far as 6 bits tell it.
constexpr int kOrderBits = 6;
constexpr uint64_t kMaxOrder = (1 << kOrderBits) - 1;

class WTinyLfu final : public CachePolicy {
 public:
  explicit WTinyLfu(const CachePolicyOptions& options)
      : half_life_(options.half_life.value_or(64.0), options.slots) {}

  void BeginStep(uint64_t step, uint64_t uses_before) override {
    half_life_.BeginStep(step, uses_before);
    group_ = std::max<uint64_t>(1, uses_before / kMaxOrder);
    uses_ = 0;
  }

  uint8_t Admit() override { return kNotUsed; }

  uint8_t Use(uint8_t state, const CacheUse&) override {
    ++uses_;
    if (state == kNotUsed) return State(kWindow);
    return State(SegmentOf(state) == kWindow ? kWindow : kProtected);
  }

  size_t Choose(std::span<const CachedRow> rows) override {
    const size_t window_rows = std::max<size_t>(1, rows.size() / 64);
    size_t in_segment[] = {0, 0, 0};
    for (const CachedRow& row : rows) ++in_segment[SegmentOf(*row.state)];
    const size_t most_protected = (rows.size() - window_rows) * 4 / 5;
    for (; in_segment[kProtected] > most_protected; --in_segment[kProtected]) {
      PutOnProbation(rows[Oldest(rows, kProtected)]);
      ++in_segment[kProbation];
    }
    const Segment main = in_segment[kProbation] > 0 ? kProbation : kProtected;
    std::optional<size_t> victim;
    if (in_segment[main] > 0) victim = Oldest(rows, main);
    // The new row needs a place in the window. If the cache has just filled, or pins hid the window
    // for a while, several rows leave it; all but one find room.
    for (; in_segment[kWindow] >= window_rows; --in_segment[kWindow]) {
      const size_t candidate = Oldest(rows, kWindow);
      PutOnProbation(rows[candidate]);
      if (!victim || Lookups(rows[candidate]) <= Lookups(rows[*victim])) victim = candidate;
    }
    return *victim;  // Nobody outside the window: the loop has found one in it.
  }

 private:
  static constexpr uint8_t kNotUsed = 0xff;  // in the window, before its first use

  static Segment SegmentOf(uint8_t state) {
    return state == kNotUsed ? kWindow : static_cast<Segment>(state >> kOrderBits);
  }

  uint8_t State(Segment segment) const {
    return static_cast<uint8_t>(segment << kOrderBits | std::min(uses_ / group_, kMaxOrder));
  }

  static void PutOnProbation(const CachedRow& row) {
    *row.state = static_cast<uint8_t>(kProbation << kOrderBits | (*row.state & kMaxOrder));
  }

  // Requires that the segment has one.
  static size_t Oldest(std::span<const CachedRow> rows, Segment segment) {
    size_t oldest = rows.size();
    for (size_t i = 0; i < rows.size(); ++i) {
      if (SegmentOf(*rows[i].state) != segment) continue;
      if (oldest == rows.size() || rows[i].age > rows[oldest].age ||
          (rows[i].age == rows[oldest].age &&
           (*rows[i].state & kMaxOrder) < (*rows[oldest].state & kMaxOrder))) {
        oldest = i;
      }
    }
    return oldest;
  }

  double Lookups(const CachedRow& row) const {
    const double lookups = TrailerAt(row.trailer).frequency;
    return row.age == 0 ? lookups
                        : lookups * std::exp2(-static_cast<double>(row.age) / half_life_.steps());
  }

  HalfLife half_life_;
  uint64_t uses_ = 0;   // in this step
  uint64_t group_ = 1;  // uses told apart
};

REGISTER_MEMBER(CachePolicies().Add<WTinyLfu>("w_tinylfu", Retention{.by_count = 0.62}));

}  // namespace
}  // namespace rowhouse
