#include "ps/cache/slot_table.h"

#include <glog/logging.h>

#include <algorithm>
#include <array>
#include <bit>

#include "ps/cache/cache_places.h"

namespace rowhouse {

SlotTable::SlotTable(const SlotTableOptions& options)
    : options_(options), is_direct_(options.capacity_rows >= options.rows) {
  CHECK_GT(options.rows, 0u);
  CHECK_GT(options.ways, 0u);
  const CacheShape shape = is_direct_ ? CacheShape{.sets = options.rows, .ways = 1}
                                      : CacheShape::Of(options.capacity_rows, options.ways);
  ways_ = shape.ways;
  slots_ = shape.sets * shape.ways;
  if (is_direct_) {
    direct_flags_.resize(slots_);
    return;
  }
  places_.emplace(options.rows, shape.sets);
  group_memory_ = PageMemory((slots_ + kTagsPerMatch - 1) / kTagsPerMatch * sizeof(Group));
  groups_ = reinterpret_cast<Group*>(group_memory_.data());
  if (places_->is_wide()) {
    high_tag_memory_ = PageMemory(slots_ * sizeof(uint32_t));
    high_tags_ = reinterpret_cast<uint32_t*>(high_tag_memory_.data());
  }
  if (options.ways == 1) index_.emplace(slots_);
}

size_t SlotTable::bytes_per_slot() const {
  if (is_direct_) return sizeof(direct_flags_[0]);
  return sizeof(Group) / kTagsPerMatch + (high_tags_ != nullptr ? sizeof(*high_tags_) : 0);
}

uint64_t SlotTable::TagOf(CacheSlot slot) const {
  const uint32_t low_bits = groups_[slot / kTagsPerMatch].tags[slot % kTagsPerMatch];
  return high_tags_ == nullptr ? low_bits : uint64_t{high_tags_[slot]} << 32 | low_bits;
}

RowId SlotTable::RowAt(CacheSlot slot) const {
  uint64_t position = slot;
  if (!is_direct_) {
    const uint64_t tag = TagOf(slot);
    position = high_tags_ == nullptr ? places_->PositionOf(slot / ways_, static_cast<uint32_t>(tag))
                                     : places_->PositionOf(tag);
  }
  return options_.order.RowAt(options_.first_row + position);
}

CacheSlot SlotTable::Find(const Place& place) const {
  if (is_direct_) return FindDirect(place);
  if (index_) {
    // One set: tags of 64 bits, or of 32 bits if these are enough.
    const uint32_t slot = index_->Find(place.tag, [&](uint32_t s) { return TagOf(s); });
    return slot == SlotIndex::kNone ? kNoCacheSlot : slot;
  }
  // A set may begin or end within a group: only its own lanes count.
  const CacheSlot first = place.set * ways_, end = first + ways_;
  for (CacheSlot group = first / kTagsPerMatch * kTagsPerMatch; group < end;
       group += kTagsPerMatch) {
    const Group& at = groups_[group / kTagsPerMatch];
    uint32_t matches = MatchTags(at.tags, static_cast<uint32_t>(place.tag));
    for (; matches != 0; matches &= matches - 1) {
      const auto lane = static_cast<uint64_t>(std::countr_zero(matches));
      const CacheSlot slot = group + lane;
      if (slot < first || slot >= end || !at.words[lane].is_occupied()) continue;
      if (high_tags_ == nullptr || high_tags_[slot] == place.tag >> 32) return slot;
    }
  }
  return kNoCacheSlot;
}

void SlotTable::FindTogether(std::span<const RowId> rows, std::span<CacheSlot> slots) const {
  CHECK_LE(rows.size(), kTogether);
  CHECK_EQ(rows.size(), slots.size());
  if (is_direct_) {
    for (size_t i = 0; i < rows.size(); ++i) slots[i] = FindDirect(PlaceOf(rows[i]));
    return;
  }
  std::array<Place, kTogether> places;
  for (size_t i = 0; i < rows.size(); ++i) {
    places[i] = PlaceOf(rows[i]);
    if (index_) {
      index_->Prefetch(places[i].tag);
      continue;
    }
    const Group* const group = &groups_[places[i].set * ways_ / kTagsPerMatch];
    __builtin_prefetch(group->tags);
    __builtin_prefetch(group->words, /*rw=*/1);
  }
  for (size_t i = 0; i < rows.size(); ++i) slots[i] = Find(places[i]);
}

CacheSlot SlotTable::EmptySlot(const Place& place) const {
  if (is_direct_) return place.set;
  if (index_) {
    if (!emptied_.empty()) return emptied_.top();
    return never_used_ < slots_ ? never_used_ : kNoCacheSlot;
  }
  const CacheSlot first = place.set * ways_, end = first + ways_;
  for (CacheSlot group = first / kTagsPerMatch * kTagsPerMatch; group < end;
       group += kTagsPerMatch) {
    static_assert(std::endian::native == std::endian::little && SlotWord::kOccupied == 1);
    uint32_t empty =
        ~HighByteLowBits(reinterpret_cast<const uint32_t*>(groups_[group / kTagsPerMatch].words)) &
        0xffff;
    if (group < first) empty &= ~0u << (first - group);
    if (empty == 0) continue;
    const CacheSlot slot = group + static_cast<uint64_t>(std::countr_zero(empty));
    return slot < end ? slot : kNoCacheSlot;
  }
  return kNoCacheSlot;
}

void SlotTable::Put(CacheSlot slot, const Place& place) {
  if (is_direct_) return;
  groups_[slot / kTagsPerMatch].tags[slot % kTagsPerMatch] = static_cast<uint32_t>(place.tag);
  if (high_tags_ != nullptr) high_tags_[slot] = static_cast<uint32_t>(place.tag >> 32);
  if (!index_) return;
  if (!emptied_.empty() && slot == emptied_.top()) {
    emptied_.pop();
  } else {
    never_used_ = std::max(never_used_, slot + 1);
  }
  index_->Insert(place.tag, static_cast<uint32_t>(slot));
}

void SlotTable::TakeOut(CacheSlot slot) {
  word(slot).flags = 0;
  if (!index_) return;
  index_->Erase(static_cast<uint32_t>(slot), [&](uint32_t s) { return TagOf(s); });
  emptied_.push(slot);
}

}  // namespace rowhouse
