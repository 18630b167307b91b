// Rows announced for a step to come: read from the store before a pull asks, and kept in the cache
// until it has. Whether a row is announced changes when it is read, never what a pull returns.
#include <algorithm>

#include "common/wire/codec.h"
#include "common/wire/prefetch.h"
#include "ps/shard/shard.h"

namespace rowhouse {

// No answer goes back: what is wrong with an announcement is told here.
void Shard::OnPrefetch(const Message& message) {
  const auto refuse = [&](const Status& status) {
    LOG(WARNING) << options_.name << ": prefetch of worker " << message.header.sender
                 << " ignored: " << status.message();
  };
  const Result<PrefetchRequest> body = DecodeBody<PrefetchRequest>(message);
  if (!body.ok()) return refuse(body.status());
  if (message.payload.size() != 1) {
    return refuse(CorruptionError("it has {} payload frames, not 1", message.payload.size()));
  }
  const Frame& ids = message.payload[0];
  const Result<std::vector<CutRows>> parts = TakeParts(body.value().tables, ids);
  if (!parts.ok()) return refuse(parts.status());
  const uint64_t step = message.header.step;
  stats_.rows_announced += ids.size() / sizeof(uint64_t);
  if (step < next_step_ || IsBlocked()) return;

  std::map<const SliceState*, StoreRead> reads;
  const uint64_t* id = ids.As<uint64_t>().data();
  for (const CutRows& part : parts.value()) {
    CutState& cut = cuts_[part.cut];
    for (uint32_t i = 0; i < part.rows; ++i) {
      const RowId row{*id++};
      SliceState& slice = *cut.Find(row);
      const RowCache::Slot slot = slice.cache->Find(row);
      if (slot != RowCache::kNone) {
        Keep(slice, slot, row, step);
        continue;
      }
      if (!slice.MayBeStored(cut.order.PositionOf(row))) continue;  // No disk is waited for.
      if (const auto coming = slice.coming.find(row); coming != slice.coming.end()) {
        const auto [first, last] = std::minmax(coming->second, step);
        if (first != last) PrefetchLater(slice, row, {.after = first, .step = last});
        coming->second = first;
        continue;
      }
      // Half of a cache: what is in flight must find room beside what is to come.
      if (slice.coming.size() >= std::max<uint64_t>(1, slice.cache->capacity_rows() / 2) ||
          !HasRoomToPrefetch(slice.store.record_bytes)) {
        continue;
      }
      slice.coming.emplace(row, step);
      coming_bytes_ += slice.store.record_bytes;
      StoreRead& read = reads[&slice];
      read.slice = slice.store;
      read.rows.push_back(row);
    }
  }
  if (reads.empty()) return;
  ReadRows action{.ticket = next_ticket_++, .reads = {}};
  for (auto& [slice, read] : reads) {
    read.records.resize(read.rows.size() * read.slice.record_bytes);
    action.reads.push_back(std::move(read));
  }
  prefetches_.insert(action.ticket);
  FlushQueuedWrites();  // A row written a moment ago must be read as it was written.
  actions_.emplace_back(std::move(action));
}

// An announcement of the step that is next comes late, but not too late.
void Shard::Keep(SliceState& slice, RowCache::Slot slot, RowId row, uint64_t step) {
  if (step > next_step_) {
    if (const auto later = slice.cache->Prefetch(slot, step)) PrefetchLater(slice, row, *later);
  } else if (step == next_step_) {
    slice.cache->Pin(slot, step);
  }
}

void Shard::PrefetchLater(SliceState& slice, RowId row, const RowCache::LaterUse& use) {
  if (use.after < next_step_ || !HasRoomToPrefetch(sizeof(LaterUse))) return;
  later_uses_[use.after].push_back({&slice, row, use.step});
  ++later_uses_count_;
}

bool Shard::HasRoomToPrefetch(uint64_t bytes) const {
  constexpr uint64_t kUseBytes = 2 * sizeof(LaterUse);  // Vectors grow beyond what they hold.
  return coming_bytes_ + later_uses_count_ * kUseBytes + bytes <= options_.max_prefetch_bytes;
}

// Rows that were used in the steps applied, as announced, and will be used again.
void Shard::PrefetchAgain() {
  while (!later_uses_.empty() && later_uses_.begin()->first < next_step_) {
    const auto uses = later_uses_.extract(later_uses_.begin());
    later_uses_count_ -= uses.mapped().size();
    for (const LaterUse& use : uses.mapped()) {
      const RowCache::Slot slot = use.slice->cache->Find(use.row);
      if (slot != RowCache::kNone) Keep(*use.slice, slot, use.row, use.step);
    }
  }
}

void Shard::FinishPrefetch(uint64_t ticket, std::vector<StoreRead> reads) {
  for (StoreRead& read : reads) {
    CutState& cut = CutOf(read.slice);
    if (Status status = InitialiseMissing(cut, read); !status.ok()) {
      return Fail(std::move(status));
    }
    for (size_t i = 0; i < read.rows.size(); ++i) {
      const RowId row = read.rows[i];
      SliceState& slice = *cut.Find(row);
      const uint64_t step = slice.coming.extract(row).mapped();
      coming_bytes_ -= slice.store.record_bytes;
      // A step that was applied meanwhile may have written it since it was read.
      const auto written = slice.written_at.find(row);
      if (written != slice.written_at.end() && written->second > ticket) continue;
      RowCache::Slot slot = slice.cache->Find(row);
      if (slot == RowCache::kNone) {
        CacheVictim victim;
        slot = slice.cache->Claim(row, next_step_, &victim, /*wanted=*/std::max(step, next_step_));
        if (slot == RowCache::kNone) continue;
        TakeVictim(cut, slice, victim);
        std::memcpy(slice.cache->record(slot), read.records.data() + i * read.slice.record_bytes,
                    read.slice.record_bytes);
        ++stats_.rows_prefetched;
      }
      Keep(slice, slot, row, step);
    }
  }
  // What was written before the oldest read under way was asked for, that read has seen.
  const uint64_t oldest = prefetches_.empty() ? next_ticket_ : *prefetches_.begin();
  for (CutState& cut : cuts_) {
    for (SliceState& slice : cut.slices) {
      std::erase_if(slice.written_at, [&](const auto& entry) { return entry.second <= oldest; });
    }
  }
}

}  // namespace rowhouse
