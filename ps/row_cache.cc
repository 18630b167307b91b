#include "ps/row_cache.h"

#include <glog/logging.h>
#include <sys/mman.h>

#include <algorithm>

#include "common/random.h"

namespace rowhouse {

RowCache::RowCache(const RowCacheOptions& options)
    : layout_(options.layout),
      record_bytes_(options.layout.bytes()),
      order_(options.order),
      first_row_(options.first_row) {
  CHECK_GT(options.rows, 0u);
  CHECK_GT(options.ways, 0u);
  is_direct_ = options.capacity_rows >= options.rows;
  if (is_direct_) {
    ways_ = 1;
    sets_ = options.rows;
  } else {
    const uint64_t capacity = std::max<uint64_t>(options.capacity_rows, 1);
    ways_ = std::min<uint64_t>(options.ways, capacity);
    sets_ = (capacity + ways_ - 1) / ways_;
  }
  slots_ = sets_ * ways_;
  mapped_bytes_ = slots_ * record_bytes_;
  void* memory = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  PCHECK(memory != MAP_FAILED) << "row cache of " << mapped_bytes_ << " bytes";
  records_ = static_cast<std::byte*>(memory);
  tags_.resize(slots_);
  last_use_.resize(slots_);
  pinned_until_.resize(slots_);
  dirty_.resize(slots_);
}

RowCache::~RowCache() { munmap(records_, mapped_bytes_); }

RowCache::Slot RowCache::FirstWay(RowId row) const {
  if (is_direct_) return order_.PositionOf(row) - first_row_;
  // High bits of a product instead of a remainder: sets_ need not be a power of two.
  const uint64_t hash = Mix64(Raw(row));
  return static_cast<uint64_t>((static_cast<unsigned __int128>(hash) * sets_) >> 64) * ways_;
}

RowCache::Slot RowCache::Find(RowId row) const {
  const Slot first = FirstWay(row);
  const uint64_t tag = Raw(row) + 1;
  for (Slot slot = first; slot < first + ways_; ++slot) {
    if (tags_[slot] == tag) return slot;
  }
  return kNone;
}

RowCache::Slot RowCache::Claim(RowId row, uint64_t step, CacheVictim* victim) {
  *victim = {};
  const Slot first = FirstWay(row);
  Slot best = kNone;
  uint32_t best_age = 0;
  for (Slot slot = first; slot < first + ways_; ++slot) {
    if (tags_[slot] == 0) {
      best = slot;
      break;
    }
    if (pinned_until_[slot] > step) continue;
    const uint32_t age = now_ - last_use_[slot];  // Right also when now_ has wrapped.
    if (best == kNone || age > best_age) {
      best = slot;
      best_age = age;
    }
  }
  if (best == kNone) return kNone;
  if (tags_[best] != 0) {
    *victim = {.is_dirty = is_dirty(best),
               .row = RowId{tags_[best] - 1},
               .record = {record(best), record_bytes_}};
  }
  tags_[best] = Raw(row) + 1;
  last_use_[best] = ++now_;
  pinned_until_[best] = 0;
  dirty_[best] = 0;
  return best;
}

void RowCache::Pin(Slot slot, uint64_t step) {
  if (is_direct_) return;  // Nothing is ever claimed from anybody: no use and no pin to note.
  last_use_[slot] = ++now_;
  Announce(slot, step);
}

void RowCache::Announce(Slot slot, uint64_t step) {
  if (is_direct_) return;
  pinned_until_[slot] = std::max(pinned_until_[slot], static_cast<uint32_t>(step + 1));
}

std::vector<std::pair<RowId, RowCache::Slot>> RowCache::DirtySlots(Slot begin, Slot end) const {
  std::vector<std::pair<RowId, Slot>> dirty;
  for (Slot slot = begin; slot < end; ++slot) {
    if (dirty_[slot] != 0) dirty.emplace_back(RowId{tags_[slot] - 1}, slot);
  }
  std::sort(dirty.begin(), dirty.end());
  return dirty;
}

}  // namespace rowhouse
