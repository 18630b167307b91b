#include "ps/cache/victim_search.h"

#include <glog/logging.h>

#include <algorithm>

namespace rowhouse {

VictimSearch::VictimSearch(CachePolicy* policy)
    : policy_(policy), ranks_rows_(policy != nullptr && policy->ranks_rows()) {}

inline CachedRow VictimSearch::CandidateAt(const SearchedCache& cache, CacheSlot slot) const {
  SlotWord& word = cache.table.word(slot);
  return {.slot = slot,
          .row = ranks_rows_ ? cache.table.RowAt(slot) : RowId{},
          .age = cache.times.AgeAt(word, cache.times.now()),
          .state = &word.state,
          .trailer = cache.records.trailer(slot)};
}

// Of `count` slots behind `begin`, cyclically in `range`: the policy's choice among those that are
// not pinned and whose next use is not known. kNoCacheSlot if there are none. A slot whose next use
// is known and later than farthest->next_use becomes *farthest.
CacheSlot VictimSearch::ChooseAmong(const SearchedCache& cache, const SlotTable::Range& range,
                                    uint64_t begin, uint64_t count, int64_t step,
                                    Farthest* farthest) {
  // Beside the loop: the compiler cannot know that candidates do not lie in these objects.
  SlotTable& table = cache.table;
  const SlotTimes times = cache.times;
  candidates_.clear();
  for (uint64_t i = 0, at = begin; i < count; ++i, ++at) {
    if (at == range.count) at = 0;
    const CacheSlot slot = range.first + at;
    SlotWord& word = table.word(slot);
    if (!word.is_occupied() || times.IsPinned(word, step)) continue;
    if (word.is_next_use_known()) {
      const int64_t next_use = times.StepOf(word);
      if (next_use >= step) {
        if (next_use > farthest->next_use) *farthest = {.slot = slot, .next_use = next_use};
        continue;
      }
      // The step has passed without the use: an ordinary row again.
      word.ForgetNextUse();
    }
    candidates_.push_back(CandidateAt(cache, slot));
  }
  if (candidates_.empty()) return kNoCacheSlot;
  const size_t chosen = policy_->Choose(candidates_);
  DCHECK_LT(chosen, candidates_.size());
  return candidates_[chosen].slot;
}

CacheSlot VictimSearch::Choose(const SearchedCache& cache, const SlotTable::Place& place,
                               uint64_t step, uint64_t wanted) {
  const SlotTable::Range range = cache.table.SlotsFor(place);
  const auto at_step = static_cast<int64_t>(step);
  Farthest farthest{.slot = kNoCacheSlot, .next_use = static_cast<int64_t>(wanted)};
  if (!cache.table.is_fully_associative()) {
    // One hand for all sets: only policies that go round depend on where it begins in a set.
    const CacheSlot slot =
        ChooseAmong(cache, range, hand_++ % range.count, range.count, at_step, &farthest);
    return slot != kNoCacheSlot ? slot : farthest.slot;
  }
  // The hand goes on behind the victim, so all slots take turns. Windows of rows that are all
  // pinned or have a known next use are skipped.
  const uint64_t slots = range.count, count = slots <= kProbeAll ? slots : kProbe;
  CacheSlot slot = kNoCacheSlot;
  for (uint64_t looked = 0; looked < slots && slot == kNoCacheSlot; looked += count) {
    slot = ChooseAmong(cache, range, hand_, count, at_step, &farthest);
    if (slot == kNoCacheSlot) hand_ = (hand_ + count) % slots;
    // Searching every slot for the row that is used last would cost more than it gains.
    if (farthest.slot != kNoCacheSlot && looked >= 16 * count) break;
  }
  if (slot == kNoCacheSlot) slot = farthest.slot;
  if (slot != kNoCacheSlot) hand_ = (slot + 1) % slots;
  return slot;
}

CacheSlot VictimSearch::ChooseForMove(const SearchedCache& cache, const SlotTable::Place& place,
                                      CachedRow newcomer, bool is_next_use_known) {
  const SlotTable::Range range = cache.table.SlotsFor(place);
  const bool is_one_set = cache.table.is_fully_associative();
  const uint64_t count = is_one_set ? std::min(range.count, kProbe) : range.count;
  candidates_.clear();
  for (uint64_t i = 0; i < count; ++i) {
    const CacheSlot slot = is_one_set ? (hand_ + i) % range.count : range.first + i;
    if (!cache.table.word(slot).is_next_use_known()) {
      candidates_.push_back(CandidateAt(cache, slot));
    }
  }
  if (!is_next_use_known || candidates_.empty()) candidates_.push_back(newcomer);
  const CacheSlot chosen = candidates_[policy_->Choose(candidates_)].slot;
  if (chosen != kNoCacheSlot) hand_ = (chosen + 1) % cache.table.slots();
  return chosen;
}

}  // namespace rowhouse
