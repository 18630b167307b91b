// W-TinyLFU (Einziger, Friedman and Manes, 2017): a new row first lives in a small window (LRU).
// Rows beyond the window's share go on probation, the first part of a segmented LRU, and are
// protected when they are used again; but where one has to go, each of them must have been looked
// up more often than the last on probation, or goes itself.
//
// The window is 1 row in 64 of those looked at, one at least, and 4 in 5 of the others may be
// protected. In place of the paper's sketch stand the lookups that every record counts over its
// life, halved with every half-life (64 uses a slot) the row was not used.
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
    // The row to come needs one of the window's places. In a cache that has just filled, or where
    // pins hid the window for a while, several leave it: all but one find room.
    for (; in_segment[kWindow] >= window_rows; --in_segment[kWindow]) {
      const size_t candidate = Oldest(rows, kWindow);
      PutOnProbation(rows[candidate]);
      if (!victim || Lookups(rows[candidate]) <= Lookups(rows[*victim])) victim = candidate;
    }
    return *victim;  // None in main: all are in the window, and the loop had one.
  }

 private:
  static constexpr uint8_t kNotUsed = 0xff;  // its first use is yet to come; in the window

  static Segment SegmentOf(uint8_t state) {
    return state == kNotUsed ? kWindow : static_cast<Segment>(state >> kOrderBits);
  }

  uint8_t State(Segment segment) const {
    return static_cast<uint8_t>(segment << kOrderBits | std::min(uses_ / group_, kMaxOrder));
  }

  static void PutOnProbation(const CachedRow& row) {
    *row.state = static_cast<uint8_t>(kProbation << kOrderBits | (*row.state & kMaxOrder));
  }

  // Of a segment that has one.
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

const bool kRegistered = CachePolicies().Add<WTinyLfu>("w_tinylfu");

}  // namespace
}  // namespace rowhouse
