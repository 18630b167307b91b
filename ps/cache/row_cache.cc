#include "ps/cache/row_cache.h"

#include <glog/logging.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace rowhouse {

CacheShape CacheShape::Of(uint64_t capacity_rows, uint32_t ways) {
  CHECK_GT(ways, 0u);
  const uint64_t rows = std::max<uint64_t>(capacity_rows, 1);
  if (ways == 1) return {.sets = 1, .ways = std::min(rows, kMaxFullyAssociativeSlots)};
  if (rows <= ways) return {.sets = 1, .ways = rows};
  // A small capacity that is no multiple of `ways` loses fewer slots with one more set of fewer
  // ways.
  const CacheShape fewer{.sets = rows / ways, .ways = ways};
  const uint64_t more_sets = fewer.sets + 1;
  const CacheShape more{.sets = more_sets, .ways = rows / more_sets};
  return more.sets * more.ways > fewer.sets * fewer.ways ? more : fewer;
}

RowCache::RowCache(const RowCacheOptions& options)
    : options_(options), record_bytes_(options.layout.bytes()) {
  CHECK_GT(options.rows, 0u);
  CHECK_GT(options.ways, 0u);
  is_direct_ = options.capacity_rows >= options.rows;
  const CacheShape shape = is_direct_ ? CacheShape{.sets = options.rows, .ways = 1}
                                      : CacheShape::Of(options.capacity_rows, options.ways);
  sets_ = shape.sets;
  ways_ = shape.ways;
  slots_ = sets_ * ways_;
  records_ = PageMemory(slots_ * record_bytes_);
  if (is_direct_) {
    direct_flags_.resize(slots_);
    return;
  }
  places_.emplace(options.rows, sets_);
  group_memory_ = PageMemory((slots_ + kTagsPerMatch - 1) / kTagsPerMatch * sizeof(SlotGroup));
  groups_ = reinterpret_cast<SlotGroup*>(group_memory_.data());
  if (places_->is_wide()) {
    high_tag_memory_ = PageMemory(slots_ * sizeof(uint32_t));
    high_tags_ = reinterpret_cast<uint32_t*>(high_tag_memory_.data());
  }
  if (options.ways == 1) index_.emplace(slots_);
  policy_ = CachePolicies()
                .Make(options.policy, {.slots = slots_,
                                       .half_life = options.half_life,
                                       .access_counts = options.access_counts,
                                       .own = options.policy_own})
                .value();
}

RowCache::~RowCache() = default;

size_t RowCache::bytes_per_slot() const {
  if (is_direct_) return sizeof(direct_flags_[0]);
  return sizeof(SlotGroup) / kTagsPerMatch + (high_tags_ != nullptr ? sizeof(*high_tags_) : 0);
}

// ---- Where rows lie ---------------------------------------------------------------------------

uint64_t RowCache::TagOf(Slot slot) const {
  return high_tags_ == nullptr ? Tag(slot) : uint64_t{high_tags_[slot]} << 32 | Tag(slot);
}

RowId RowCache::RowOf(Slot slot) const {
  uint64_t position = slot;
  if (!is_direct_) {
    position = high_tags_ == nullptr ? places_->PositionOf(slot / ways_, Tag(slot))
                                     : places_->PositionOf(TagOf(slot));
  }
  return options_.order.RowAt(options_.first_row + position);
}

RowCache::Slot RowCache::Find(RowId row) const {
  const uint64_t position = PositionOf(row);
  if (is_direct_) return (direct_flags_[position] & kOccupied) != 0 ? position : kNone;
  return FindPlace(places_->Of(position));
}

RowCache::Slot RowCache::FindPlace(const CachePlaces::Place& place) const {
  if (index_) {
    // One set: tags of 64 bits, or of 32 bits if these are enough.
    const uint32_t slot = index_->Find(place.tag, [&](uint32_t s) { return TagOf(s); });
    return slot == SlotIndex::kNone ? kNone : slot;
  }
  // A set may begin or end within a group: only its own lanes count.
  const Slot first = place.set * ways_, end = first + ways_;
  for (Slot group = first / kTagsPerMatch * kTagsPerMatch; group < end; group += kTagsPerMatch) {
    const SlotGroup& at = groups_[group / kTagsPerMatch];
    uint32_t matches = MatchTags(at.tags, static_cast<uint32_t>(place.tag));
    for (; matches != 0; matches &= matches - 1) {
      const auto lane = static_cast<uint64_t>(std::countr_zero(matches));
      const Slot slot = group + lane;
      if (slot < first || slot >= end || (at.words[lane].flags & kOccupied) == 0) continue;
      if (high_tags_ == nullptr || high_tags_[slot] == place.tag >> 32) return slot;
    }
  }
  return kNone;
}

void RowCache::Fetch(Slot slot) const {
  constexpr size_t kLineBytes = 64;
  const std::byte* const end = record(slot) + record_bytes_ + kLineBytes - 1;
  for (const std::byte* line = record(slot); line < end; line += kLineBytes) {
    __builtin_prefetch(line, /*rw=*/1);
  }
}

void RowCache::FindTogether(std::span<const RowId> rows, std::span<Slot> slots, bool claims) const {
  CHECK_LE(rows.size(), kTogether);
  CHECK_EQ(rows.size(), slots.size());
  if (is_direct_) {
    for (size_t i = 0; i < rows.size(); ++i) {
      slots[i] = Find(rows[i]);
      Fetch(PositionOf(rows[i]));  // Nearly always there: do not wait to know.
    }
    return;
  }
  std::array<CachePlaces::Place, kTogether> places;
  for (size_t i = 0; i < rows.size(); ++i) {
    places[i] = places_->Of(PositionOf(rows[i]));
    if (index_) {
      index_->Prefetch(places[i].tag);
      continue;
    }
    const SlotGroup* const group = &groups_[places[i].set * ways_ / kTagsPerMatch];
    __builtin_prefetch(group->tags);
    __builtin_prefetch(group->words, /*rw=*/1);
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    slots[i] = FindPlace(places[i]);
    const Slot use = claims && slots[i] == kNone ? EmptySlot(places[i]) : slots[i];
    if (use != kNone) Fetch(use);
  }
}

RowCache::Slot RowCache::EmptySlot(const CachePlaces::Place& place) const {
  if (index_) {
    if (!emptied_.empty()) return emptied_.top();
    return never_used_ < slots_ ? never_used_ : kNone;
  }
  const Slot first = place.set * ways_, end = first + ways_;
  for (Slot group = first / kTagsPerMatch * kTagsPerMatch; group < end; group += kTagsPerMatch) {
    static_assert(std::endian::native == std::endian::little && kOccupied == 1);
    uint32_t empty =
        ~HighByteLowBits(reinterpret_cast<const uint32_t*>(groups_[group / kTagsPerMatch].words)) &
        0xffff;
    if (group < first) empty &= ~0u << (first - group);
    if (empty == 0) continue;
    const Slot slot = group + static_cast<uint64_t>(std::countr_zero(empty));
    return slot < end ? slot : kNone;
  }
  return kNone;
}

bool RowCache::HasRoom(RowId row) const {
  return is_direct_ || EmptySlot(places_->Of(PositionOf(row))) != kNone;
}

// ---- In and out -------------------------------------------------------------------------------

RowCache::Slot RowCache::Claim(RowId row, uint64_t step, CacheVictim* victim,
                               std::optional<uint64_t> wanted) {
  *victim = {};
  const uint64_t position = PositionOf(row);
  AdvanceTo(step);
  if (is_direct_) {
    direct_flags_[position] = kOccupied;
    return position;
  }
  const CachePlaces::Place place = places_->Of(position);
  Slot slot = EmptySlot(place);
  if (slot == kNone) {
    slot = ChooseVictim(place, step, wanted.value_or(step));
    if (slot == kNone) return kNone;
    TakeOut(slot, victim);
  }
  Put(slot, place);
  Word(slot) = {
      .time = static_cast<uint16_t>(step - 1), .state = policy_->Admit(), .flags = kOccupied};
  return slot;
}

void RowCache::Put(Slot slot, const CachePlaces::Place& place) {
  Tag(slot) = static_cast<uint32_t>(place.tag);
  if (high_tags_ != nullptr) high_tags_[slot] = static_cast<uint32_t>(place.tag >> 32);
  if (!index_) return;
  if (!emptied_.empty() && slot == emptied_.top()) {
    emptied_.pop();
  } else {
    never_used_ = std::max(never_used_, slot + 1);
  }
  index_->Insert(place.tag, static_cast<uint32_t>(slot));
}

void RowCache::TakeOut(Slot slot, CacheVictim* victim) {
  *victim = {
      .is_dirty = is_dirty(slot), .row = RowOf(slot), .record = {record(slot), record_bytes_}};
  Word(slot).flags = 0;
  if (!index_) return;
  index_->Erase(static_cast<uint32_t>(slot), [&](uint32_t s) { return TagOf(s); });
  emptied_.push(slot);
}

bool RowCache::IsPinned(const SlotWord& word, int64_t step) const {
  if ((word.flags & kNextUseKnown) == 0) return StepOf(word) >= step;
  if ((word.flags & kPinned) == 0) return false;
  return (((word.flags >> kPinShift) - step) & 15) < kMaxPinAhead;
}

CachedRow RowCache::CandidateAt(Slot slot) {
  SlotWord& word = Word(slot);
  return {.slot = slot,
          .row = policy_->ranks_rows() ? RowOf(slot) : RowId{},
          .age = AgeOf(word, now_),
          .state = &word.state,
          .trailer = record(slot) + record_bytes_ - sizeof(RecordTrailer)};
}

// Of `count` slots behind `begin`, cyclically in [first, first + slots): the policy's choice among
// those that are not pinned and whose next use is not known. kNone if there are none. Of slots
// whose next use is known and later than *farthest_time, *farthest becomes the one used last.
RowCache::Slot RowCache::ChooseAmong(Slot first, uint64_t slots, uint64_t begin, uint64_t count,
                                     uint64_t step, uint64_t wanted, Slot* farthest,
                                     int64_t* farthest_time) {
  candidates_.clear();
  const auto at_step = static_cast<int64_t>(step);
  for (uint64_t i = 0, at = begin; i < count; ++i, ++at) {
    if (at == slots) at = 0;
    const Slot slot = first + at;
    SlotWord& word = Word(slot);
    if ((word.flags & kOccupied) == 0 || IsPinned(word, at_step)) continue;
    if ((word.flags & kNextUseKnown) != 0) {
      const int64_t next_use = StepOf(word);
      if (next_use >= at_step) {
        if (next_use > std::max(*farthest_time, static_cast<int64_t>(wanted))) {
          *farthest = slot;
          *farthest_time = next_use;
        }
        continue;
      }
      // The step has passed without the use: an ordinary row again.
      word.flags &= kOccupied | kDirty;
    }
    candidates_.push_back(CandidateAt(slot));
  }
  if (candidates_.empty()) return kNone;
  const size_t chosen = policy_->Choose(candidates_);
  DCHECK_LT(chosen, candidates_.size());
  return candidates_[chosen].slot;
}

RowCache::Slot RowCache::ChooseVictim(const CachePlaces::Place& place, uint64_t step,
                                      uint64_t wanted) {
  Slot farthest = kNone;
  int64_t farthest_time = -1;
  if (!index_) {
    // One hand for all sets: only policies that go round depend on where it begins in a set.
    const Slot slot = ChooseAmong(place.set * ways_, ways_, hand_++ % ways_, ways_, step, wanted,
                                  &farthest, &farthest_time);
    return slot != kNone ? slot : farthest;
  }
  // The hand goes on behind the victim, so all slots take turns. Windows of rows that are all
  // pinned or have a known next use are skipped.
  const uint64_t count = slots_ <= kProbeAll ? slots_ : kProbe;
  Slot slot = kNone;
  for (uint64_t looked = 0; looked < slots_ && slot == kNone; looked += count) {
    slot = ChooseAmong(0, slots_, hand_, count, step, wanted, &farthest, &farthest_time);
    if (slot == kNone) hand_ = (hand_ + count) % slots_;
    // Searching every slot for the row that is used last would cost more than it gains.
    if (farthest != kNone && looked >= 16 * count) break;
  }
  if (slot == kNone) slot = farthest;
  if (slot != kNone) hand_ = (slot + 1) % slots_;
  return slot;
}

// ---- Uses -------------------------------------------------------------------------------------

void RowCache::AdvanceTo(uint64_t step) {
  const auto to = static_cast<int64_t>(step);
  if (has_begun_ && to <= now_) return;
  if (!has_begun_) {
    has_begun_ = true;
    swept_ = to;
  } else if (!is_direct_ && to - swept_ >= kSweepSteps) {
    Sweep(to);
  }
  if (!is_direct_) policy_->BeginStep(step, uses_);
  uses_ = 0;
  now_ = to;
}

// Bounds ages to kMaxAge, before times of 16 bits would wrap around to the future.
void RowCache::Sweep(int64_t step) {
  const int64_t oldest = step - kMaxAge;
  for (Slot slot = 0; slot < slots_; ++slot) {
    SlotWord& word = Word(slot);
    if ((word.flags & kOccupied) == 0) continue;
    const int64_t time = StepOf(word);
    if (time >= oldest) continue;
    const int64_t later = std::min<int64_t>(oldest - time, UINT32_MAX);
    word.state = policy_->Aged(word.state, static_cast<uint32_t>(later));
    word.time = static_cast<uint16_t>(oldest);
    word.flags &= kOccupied | kDirty;
  }
  swept_ = step;
}

void RowCache::Pin(Slot slot, uint64_t step) {
  AdvanceTo(step);
  if (is_direct_) return;  // Nothing is ever evicted: neither uses nor pins matter.
  ++uses_;
  SlotWord& word = Word(slot);
  const auto at_step = static_cast<int64_t>(step);
  word.state =
      policy_->Use(word.state, {.step = step,
                                .age = AgeOf(word, at_step),
                                .trailer = record(slot) + record_bytes_ - sizeof(RecordTrailer)});
  const int64_t time = StepOf(word);
  if ((word.flags & kNextUseKnown) != 0 && time > at_step) {
    // Used before its noted step, which stays noted.
    const auto low_bits = static_cast<uint8_t>(step << kPinShift);
    word.flags = (word.flags & (kOccupied | kDirty | kNextUseKnown)) | kPinned | low_bits;
    return;
  }
  word.flags &= kOccupied | kDirty;
  word.time = static_cast<uint16_t>(std::max(time, at_step));
}

std::optional<RowCache::LaterUse> RowCache::NoteNextUse(Slot slot, uint64_t step) {
  if (is_direct_) return std::nullopt;
  const auto next_use = static_cast<int64_t>(step);
  if (next_use <= now_ || next_use - now_ > static_cast<int64_t>(kMaxStepsAhead)) {
    return std::nullopt;
  }
  SlotWord& word = Word(slot);
  const int64_t time = StepOf(word);
  std::optional<LaterUse> later;
  uint8_t pin = word.flags & static_cast<uint8_t>(~(kOccupied | kDirty | kNextUseKnown));
  if ((word.flags & kNextUseKnown) != 0) {
    if (time == next_use) return std::nullopt;
    const auto at = static_cast<uint64_t>(time);
    if (time >= now_ && time < next_use) return LaterUse{.after = at, .step = step};
    if (time > next_use) later = LaterUse{.after = step, .step = at};
  } else if (time >= now_) {
    // The row is pinned, too. A pin until after the use is stronger, and one that the flags cannot
    // hold is kept as it is.
    if (time >= next_use || time - now_ >= kMaxPinAhead) return std::nullopt;
    pin = static_cast<uint8_t>(kPinned | static_cast<uint8_t>(time << kPinShift));
  }
  if (next_use > time) {
    word.state = policy_->Aged(word.state, static_cast<uint32_t>(next_use - time));
  }
  word.time = static_cast<uint16_t>(step);
  word.flags = (word.flags & (kOccupied | kDirty)) | kNextUseKnown | pin;
  return later;
}

// ---- All of them ------------------------------------------------------------------------------

std::vector<std::pair<RowId, RowCache::Slot>> RowCache::DirtySlots(Slot begin, Slot end) const {
  std::vector<std::pair<RowId, Slot>> dirty;
  for (Slot slot = begin; slot < std::min(end, slots_); ++slot) {
    if (is_dirty(slot)) dirty.emplace_back(RowOf(slot), slot);
  }
  std::sort(dirty.begin(), dirty.end());
  return dirty;
}

void RowCache::Resize(uint64_t capacity_rows,
                      const std::function<void(const CacheVictim&)>& evict) {
  RowCacheOptions options = options_;
  options.capacity_rows = capacity_rows;
  RowCache next(options);
  next.has_begun_ = has_begun_;
  next.now_ = next.swept_ = now_;
  if (!next.is_direct_ && has_begun_) next.policy_->BeginStep(static_cast<uint64_t>(now_), 0);
  for (Slot slot = 0; slot < slots_; ++slot) {
    if ((flags(slot) & kOccupied) == 0) continue;
    next.TakeOver(*this, slot, evict);
    records_.ReleaseBelow(slot * record_bytes_);
  }
  *this = std::move(next);
}

void RowCache::TakeOver(RowCache& from, Slot slot,
                        const std::function<void(const CacheVictim&)>& evict) {
  const uint64_t position = PositionOf(from.RowOf(slot));
  Slot to = position;
  if (is_direct_) {
    direct_flags_[position] = from.flags(slot) & (kOccupied | kDirty);
  } else {
    const CachePlaces::Place place = places_->Of(position);
    if (EmptySlot(place) == kNone && !MakeRoomFor(from, slot, place, evict)) return;
    to = EmptySlot(place);
    Put(to, place);
    // A direct array notes no uses.
    Word(to) = from.is_direct_ ? SlotWord{.time = static_cast<uint16_t>(now_ - 1),
                                          .state = policy_->Admit(),
                                          .flags = from.flags(slot)}
                               : from.Word(slot);
  }
  std::memcpy(record(to), from.record(slot), record_bytes_);
}

bool RowCache::MakeRoomFor(RowCache& from, Slot slot, const CachePlaces::Place& place,
                           const std::function<void(const CacheVictim&)>& evict) {
  uint8_t newcomer_state = from.is_direct_ ? policy_->Admit() : from.Word(slot).state;
  CachedRow newcomer{.slot = kNone,
                     .row = from.RowOf(slot),
                     .age = from.is_direct_ ? 1 : AgeOf(from.Word(slot), now_),
                     .state = &newcomer_state,
                     .trailer = from.record(slot) + record_bytes_ - sizeof(RecordTrailer)};
  // Rows whose next use is known stay, unless it is known of all.
  const Slot first = place.set * ways_;
  const uint64_t count = index_ ? std::min(slots_, kProbe) : ways_;
  candidates_.clear();
  for (uint64_t i = 0; i < count; ++i) {
    const Slot other = index_ ? (hand_ + i) % slots_ : first + i;
    if ((Word(other).flags & kNextUseKnown) == 0) candidates_.push_back(CandidateAt(other));
  }
  if (from.is_direct_ || (from.Word(slot).flags & kNextUseKnown) == 0 || candidates_.empty()) {
    candidates_.push_back(newcomer);
  }
  const Slot chosen = candidates_[policy_->Choose(candidates_)].slot;
  CacheVictim victim;
  if (chosen == kNone) {
    evict({.is_dirty = from.is_dirty(slot),
           .row = newcomer.row,
           .record = {from.record(slot), record_bytes_}});
    return false;
  }
  hand_ = (chosen + 1) % slots_;
  TakeOut(chosen, &victim);
  evict(victim);
  return true;
}

}  // namespace rowhouse
