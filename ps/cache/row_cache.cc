#include "ps/cache/row_cache.h"

#include <algorithm>
#include <cstring>

namespace rowhouse {
namespace {

SlotTableOptions TableOptions(const RowCacheOptions& options) {
  return {.order = options.order,
          .first_row = options.first_row,
          .rows = options.rows,
          .capacity_rows = options.capacity_rows,
          .ways = options.ways};
}

// Null for a direct array, which evicts nothing.
std::unique_ptr<CachePolicy> MakePolicy(const RowCacheOptions& options, const SlotTable& table) {
  if (table.is_direct()) return nullptr;
  return CachePolicies()
      .Make(options.policy, {.slots = table.slots(),
                             .half_life = options.half_life,
                             .access_counts = options.access_counts,
                             .own = options.policy_own})
      .value();
}

}  // namespace

RowCache::RowCache(const RowCacheOptions& options)
    : options_(options),
      table_(TableOptions(options)),
      records_(table_.slots(), options.layout.bytes()),
      policy_(MakePolicy(options, table_)),
      times_(policy_.get()),
      victims_(policy_.get()) {}

CacheVictim RowCache::RowIn(Slot slot) const {
  return {.is_dirty = is_dirty(slot),
          .row = table_.RowAt(slot),
          .slot = slot,
          .record = records_.bytes(slot)};
}

RowCache::Slot RowCache::Claim(RowId row, uint64_t step, CacheVictim* victim,
                               std::optional<uint64_t> wanted) {
  *victim = {};
  times_.AdvanceTo(step, table_);
  const SlotTable::Place place = table_.PlaceOf(row);
  Slot slot = table_.EmptySlot(place);
  if (slot == kNone) {
    slot = victims_.Choose(searched(), place, step, wanted.value_or(step));
    if (slot == kNone) return kNone;
    *victim = RowIn(slot);
    table_.TakeOut(slot);
  }
  table_.Put(slot, place);
  if (is_direct()) {
    table_.flags(slot) = SlotWord::kOccupied;
  } else {
    table_.word(slot) = times_.NewWord(step);
  }
  return slot;
}

std::optional<RowCache::LaterUse> RowCache::NoteNextUse(Slot slot, uint64_t step) {
  if (is_direct()) return std::nullopt;
  return times_.NoteNextUse(table_.word(slot), step);
}

std::vector<std::pair<RowId, RowCache::Slot>> RowCache::DirtySlots(Slot begin, Slot end) const {
  std::vector<std::pair<RowId, Slot>> dirty;
  for (Slot slot = begin; slot < std::min(end, capacity_rows()); ++slot) {
    if (is_dirty(slot)) dirty.emplace_back(table_.RowAt(slot), slot);
  }
  std::sort(dirty.begin(), dirty.end());
  return dirty;
}

// ---- Resize -----------------------------------------------------------------------------------

void RowCache::Resize(uint64_t capacity_rows,
                      const std::function<void(const CacheVictim&)>& evict) {
  RowCacheOptions options = options_;
  options.capacity_rows = capacity_rows;
  RowCache next(options);
  next.times_.GoOn(times_);
  for (Slot slot = 0; slot < this->capacity_rows(); ++slot) {
    if ((table_.flags(slot) & SlotWord::kOccupied) == 0) continue;
    if (is_direct()) WriteLookups(slot);
    next.TakeOver(*this, slot, evict);
    records_.ReleaseBelow(slot);
  }
  *this = std::move(next);
}

void RowCache::TakeOver(const RowCache& from, Slot slot,
                        const std::function<void(const CacheVictim&)>& evict) {
  const SlotTable::Place place = table_.PlaceOf(from.table_.RowAt(slot));
  if (table_.EmptySlot(place) == kNone && !MakeRoomFor(from, slot, place, evict)) return;
  const Slot to = table_.EmptySlot(place);
  table_.Put(to, place);
  if (!is_direct()) {
    // A direct array notes no uses.
    table_.word(to) = from.is_direct() ? times_.NewWord(static_cast<uint64_t>(times_.now()))
                                       : from.table_.word(slot);
  }
  const uint8_t lasting = is_direct() ? SlotWord::kOccupied | SlotWord::kDirty : 0xff;
  table_.flags(to) = from.table_.flags(slot) & lasting;
  std::memcpy(records_.at(to), from.records_.at(slot), layout().bytes());
}

// False if the row itself was evicted.
bool RowCache::MakeRoomFor(const RowCache& from, Slot slot, const SlotTable::Place& place,
                           const std::function<void(const CacheVictim&)>& evict) {
  SlotWord word = from.is_direct() ? times_.NewWord(static_cast<uint64_t>(times_.now()))
                                   : from.table_.word(slot);
  const CachedRow newcomer{.slot = kNone,
                           .row = from.table_.RowAt(slot),
                           .age = times_.AgeAt(word, times_.now()),
                           .state = &word.state,
                           .trailer = from.records_.trailer(slot)};
  const Slot chosen = victims_.ChooseForMove(searched(), place, newcomer, word.is_next_use_known());
  evict(chosen == kNone ? from.RowIn(slot) : RowIn(chosen));
  if (chosen == kNone) return false;
  table_.TakeOut(chosen);
  return true;
}

}  // namespace rowhouse
