#include "ps/shard/cache_admission.h"

#include <glog/logging.h>

#include <cstring>
#include <utility>

namespace rowhouse {

RowCache::Slot CacheAdmission::Claim(LocalSlice& slice, RowId row) {
  CacheVictim victim;
  const RowCache::Slot slot = slice.cache->Claim(row, state_.next_step, &victim);
  if (slot != RowCache::kNone) {
    TakeVictim(slice, victim);
  } else {
    ++state_.counters.rows_overflowed;
    ReportOverflow(tables_.TableOf(slice), slice.cache->capacity_rows());
  }
  return slot;
}

void CacheAdmission::ReportOverflow(LocalTable& table, uint64_t capacity_rows) const {
  if (std::exchange(table.overflow_reported, true)) return;
  LOG(WARNING) << state_.options.name << " table \"" << table.spec.name
               << "\": the rows of one step need more than the " << capacity_rows
               << " rows its cache holds; the rest is read and written one by one, slowly. Raise "
                  "--cache_ratio or --cache_mb.";
}

bool CacheAdmission::Admit(LocalSlice& slice, RowId row, const std::byte* record, Flags flags) {
  const RowCache::Slot slot = Claim(slice, row);
  if (slot == RowCache::kNone) return false;
  RowCache& cache = *slice.cache;
  std::memcpy(cache.record(slot), record, slice.store.record_bytes);
  if (flags.is_dirty) cache.set_dirty(slot);
  if (flags.is_pinned) cache.Pin(slot, state_.next_step);
  return true;
}

void CacheAdmission::TakeVictim(LocalSlice& slice, const CacheVictim& victim) {
  if (victim.record.empty()) return;
  ++state_.counters.rows_evicted;
  if (!victim.is_dirty) return;
  writer_.marked().BeforeLeaving(slice, victim.row, victim.slot, victim.record.data());
  writer_.Queue(slice, victim.row, victim.record.data());
}

}  // namespace rowhouse
