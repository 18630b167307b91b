// The way of a pull: from the cache, or else from the store, or else from the initialiser.
#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "common/wire/codec.h"
#include "ps/shard/shard.h"
#include "sharding/rows/record_weights.h"

namespace rowhouse {
namespace {

std::span<const RowId> RowsOf(const Frame& ids) {
  static_assert(sizeof(RowId) == sizeof(uint64_t));
  return ids.As<RowId>();
}

}  // namespace

void Shard::ServePull(PendingPull pull) {
  size_t floats = 0;
  for (const CutRows& part : pull.parts) floats += size_t{part.rows} * cuts_[part.cut].layout.dim;
  pull.rows = Frame(floats * sizeof(float));
  std::span<float> out = pull.rows.As<float>();
  const std::span<const uint32_t> counts = pull.counts.As<uint32_t>();

  MissesBySlice misses;
  std::map<SliceState*, std::vector<PendingPull::Miss>> initial_values;
  size_t at = 0, offset = 0;
  for (const CutRows& part : pull.parts) {
    CutState& cut = cuts_[part.cut];
    const size_t dim = cut.layout.dim;
    const std::span<const RowId> rows = RowsOf(pull.ids).subspan(at, part.rows);
    FindAhead ahead(cut, rows, /*claims=*/false);
    std::span<const FindAhead::Found> found;
    uint64_t from_memory = 0;
    for (size_t i = 0; i < rows.size(); ++i, ++at, offset += dim) {
      if (i % RowCache::kTogether == 0) found = ahead.Next();
      const RowId row = rows[i];
      const auto [slice, slot] = found[i % RowCache::kTogether];
      if (slice->reuse != nullptr && !pull.eval) slice->reuse->Add(row);
      if (slot == RowCache::kNone) {
        const PendingPull::Miss miss{part.cut, row, pull.eval ? 0 : counts[at], offset};
        if (!slice->coming.empty() && slice->coming.contains(row)) {
          pull.coming.push_back(miss);
          continue;
        }
        if (!slice->MayBeStored(cut.order.PositionOf(row))) {
          initial_values[slice].push_back(miss);
          continue;
        }
        auto& [read, slice_misses] = misses[slice];
        read.slice = slice->store;
        read.rows.push_back(row);
        slice_misses.push_back(miss);
        continue;
      }
      std::byte* record = slice->cache->record(slot);
      ReadWeights(cut.layout, record, out.subspan(offset, dim));
      if (pull.eval) continue;
      slice->cache->Pin(slot, pull.header.step);
      CountLookups(cut.layout, record, counts[at]);
      ++from_memory;
    }
    Count(cut, {.from_memory = from_memory});
  }
  if (!pull.eval) ++stats_.pulls;
  for (auto& [slice, wanted] : initial_values) {
    if (!pull.eval) Count(CutOf(slice->store), {.first_touched = wanted.size()});
    if (Status status = TakeInitialValues(pull, *slice, wanted, out); !status.ok()) {
      Fail(std::move(status));
      return SendError(pull.peer, pull.header, failure_);
    }
  }
  if (misses.empty() && pull.coming.empty()) return AnswerPull(std::move(pull));
  pull.has_waited = true;
  if (!pull.eval) ++stats_.pulls_from_store;
  ReadMisses(std::move(pull), std::move(misses));
}

// Without any misses the read is a fence: reads are carried out in order, so when it is done rows
// that were on their way have come.
void Shard::ReadMisses(PendingPull pull, MissesBySlice misses) {
  ReadRows action{.ticket = next_ticket_++, .reads = {}};
  pull.misses.clear();
  for (auto& [slice, entry] : misses) {
    auto& [read, slice_misses] = entry;
    read.records.resize(read.rows.size() * read.slice.record_bytes);
    action.reads.push_back(std::move(read));
    pull.misses.insert(pull.misses.end(), slice_misses.begin(), slice_misses.end());
  }
  reading_pulls_.emplace(action.ticket, std::move(pull));
  FlushQueuedWrites();  // A row written a moment ago must be read as it was written.
  actions_.emplace_back(std::move(action));
}

void Shard::OnRowsRead(RowsRead event) {
  if (!event.status.ok()) Fail(event.status);
  if (!failure_.ok()) return;
  if (event.ticket == preload_ticket_) return FinishPreload(std::move(event.reads));
  if (applying_ && event.ticket == apply_ticket_) return FinishApply(std::move(event.reads));
  if (prefetches_.erase(event.ticket) != 0) {
    return FinishPrefetch(event.ticket, std::move(event.reads));
  }
  auto pull = reading_pulls_.extract(event.ticket);
  CHECK(!pull.empty()) << "read " << event.ticket << " ended twice";
  FinishPull(std::move(pull.mapped()), std::move(event.reads));
}

void Shard::WriteInitialValue(const CutState& cut, std::span<const float> weights,
                              std::byte* record) {
  WriteInitialWeights(cut.layout, weights.subspan(cut.first_column, cut.layout.dim), record);
  cut.optimizer->InitState(cut.layout.state(record));
}

// Gives rows that are not stored their first value, so that `read.records` is whole.
Status Shard::InitialiseMissing(CutState& cut, StoreRead& read) {
  if (read.missing.empty()) return OkStatus();
  std::vector<RowId> rows;
  rows.reserve(read.missing.size());
  for (size_t i : read.missing) rows.push_back(read.rows[i]);
  std::vector<float> weights(rows.size() * cut.spec.dim);  // whole rows
  RETURN_IF_ERROR(cut.initialiser->Fill(rows, weights));
  for (size_t k = 0; k < rows.size(); ++k) {
    std::byte* const record = read.records.data() + read.missing[k] * read.slice.record_bytes;
    WriteInitialValue(cut, std::span(weights).subspan(k * cut.spec.dim, cut.spec.dim), record);
    cut.layout.set_trailer(record, {});
  }
  return OkStatus();
}

void Shard::FinishPull(PendingPull pull, std::vector<StoreRead> reads) {
  std::span<float> out = pull.rows.As<float>();
  size_t miss = 0;
  for (StoreRead& read : reads) {
    const auto wanted = std::span(pull.misses).subspan(miss, read.rows.size());
    miss += read.rows.size();
    if (Status status = TakeRead(pull, read, wanted, out); !status.ok()) {
      Fail(std::move(status));
      return SendError(pull.peer, pull.header, failure_);
    }
  }
  if (pull.coming.empty()) return AnswerPull(std::move(pull));
  MissesBySlice misses;
  for (const PendingPull::Miss& wanted : std::exchange(pull.coming, {})) {
    SliceState& slice = *cuts_[wanted.cut].Find(wanted.row);
    const RowCache::Slot slot = slice.cache->Find(wanted.row);
    if (slot != RowCache::kNone) {
      TakeRow(pull, wanted, slice.cache->record(slot), out);
      if (pull.eval) continue;
      slice.cache->Pin(slot, pull.header.step);
      Count(cuts_[wanted.cut], {.from_store = 1});
      continue;
    }
    auto& [read, slice_misses] = misses[&slice];  // It came, and found no place in the cache.
    read.slice = slice.store;
    read.rows.push_back(wanted.row);
    slice_misses.push_back(wanted);
  }
  if (misses.empty()) return AnswerPull(std::move(pull));
  ReadMisses(std::move(pull), std::move(misses));
}

Status Shard::TakeRead(const PendingPull& pull, StoreRead& read,
                       std::span<const PendingPull::Miss> wanted, std::span<float> out) {
  CutState& cut = CutOf(read.slice);
  RETURN_IF_ERROR(InitialiseMissing(cut, read));
  if (!pull.eval) {
    // Missing are rows that were never written though they looked so (ps/store/written_rows.h).
    Count(cut, {.first_touched = read.missing.size(),
                .from_store = read.rows.size() - read.missing.size()});
  }
  for (size_t i = 0; i < read.rows.size(); ++i) {
    SliceState& slice = *cut.Find(wanted[i].row);
    std::byte* record = read.records.data() + i * read.slice.record_bytes;
    // Another pull may have brought the row in while this one was reading.
    const RowCache::Slot slot = slice.cache->Find(wanted[i].row);
    if (slot != RowCache::kNone) record = slice.cache->record(slot);
    TakeRow(pull, wanted[i], record, out);
    if (pull.eval) continue;
    if (slot != RowCache::kNone) {
      slice.cache->Pin(slot, pull.header.step);
    } else {
      Admit(cut, slice, wanted[i].row, record, /*dirty=*/false, /*pin=*/true);
    }
  }
  return OkStatus();
}

// A few rows at a time, from the initialiser straight to their places.
Status Shard::TakeInitialValues(const PendingPull& pull, SliceState& slice,
                                std::span<const PendingPull::Miss> wanted, std::span<float> out) {
  CutState& cut = CutOf(slice.store);
  RowCache& cache = *slice.cache;
  const size_t dim = cut.spec.dim;
  std::vector<RowId> rows;
  for (const PendingPull::Miss& miss : wanted) rows.push_back(miss.row);
  const bool ascend = std::ranges::adjacent_find(rows, std::greater_equal()) == rows.end();
  std::vector<float> weights(std::min(RowCache::kTogether, rows.size()) * dim);
  std::vector<std::byte> no_place(cut.layout.bytes());
  std::array<RowCache::Slot, RowCache::kTogether> slots;
  std::array<bool, RowCache::kTogether> is_there;
  FindAhead ahead(cut, rows, /*claims=*/true);
  for (size_t begin = 0; begin < rows.size(); begin += RowCache::kTogether) {
    const std::span<const FindAhead::Found> found = ahead.Next();
    const std::span<const RowId> now = std::span(rows).subspan(begin, found.size());
    for (size_t i = 0; i < now.size(); ++i) {
      // Where rows do not ascend one may be named twice.
      slots[i] = ascend ? found[i].slot : cache.Find(now[i]);
      is_there[i] = slots[i] != RowCache::kNone;
      if (pull.eval) continue;
      if (!is_there[i]) slots[i] = ClaimSlot(cut, slice, now[i]);
      if (slots[i] == RowCache::kNone) continue;
      // Pinned at once: the next claim must not take the same place. Pinning looks at the trailer.
      std::byte* const record = cache.record(slots[i]);
      if (!is_there[i]) cut.layout.set_trailer(record, {});
      CountLookups(cut.layout, record, wanted[begin + i].count);
      cache.Pin(slots[i], pull.header.step);
    }
    RETURN_IF_ERROR(cut.initialiser->Fill(now, std::span(weights).first(now.size() * dim)));
    for (size_t i = 0; i < now.size(); ++i) {
      std::byte* const record =
          slots[i] == RowCache::kNone ? no_place.data() : cache.record(slots[i]);
      if (!is_there[i]) {
        WriteInitialValue(cut, std::span(weights).subspan(i * dim, dim), record);
      }
      ReadWeights(cut.layout, record, out.subspan(wanted[begin + i].offset, cut.layout.dim));
    }
  }
  return OkStatus();
}

void Shard::Count(CutState& cut, const RowsPulled& pulled) {
  cut.pulled.Add(pulled);
  stats_.pulled.Add(pulled);
}

void Shard::TakeRow(const PendingPull& pull, const PendingPull::Miss& wanted, std::byte* record,
                    std::span<float> out) {
  const RecordLayout& layout = cuts_[wanted.cut].layout;
  if (!pull.eval) CountLookups(layout, record, wanted.count);
  ReadWeights(layout, record, out.subspan(wanted.offset, layout.dim));
}

RowCache::Slot Shard::ClaimSlot(CutState& cut, SliceState& slice, RowId row) {
  RowCache& cache = *slice.cache;
  CacheVictim victim;
  const RowCache::Slot slot = cache.Claim(row, next_step_, &victim);
  if (slot != RowCache::kNone) {
    TakeVictim(cut, slice, victim);
    return slot;
  }
  ++stats_.rows_overflowed;
  if (!cut.overflow_reported) {
    cut.overflow_reported = true;
    LOG(WARNING) << options_.name << " table \"" << cut.spec.name << "\": the rows of one step "
                 << "need more than the " << cache.capacity_rows()
                 << " rows its cache holds; the rest is read and written one by one, slowly. "
                 << "Raise --cache_ratio or --cache_mb.";
  }
  return slot;
}

bool Shard::Admit(CutState& cut, SliceState& slice, RowId row, const std::byte* record, bool dirty,
                  bool pin) {
  const RowCache::Slot slot = ClaimSlot(cut, slice, row);
  if (slot == RowCache::kNone) return false;
  RowCache& cache = *slice.cache;
  std::memcpy(cache.record(slot), record, cut.layout.bytes());
  if (dirty) cache.set_dirty(slot);
  if (pin) cache.Pin(slot, next_step_);
  return true;
}

void Shard::TakeVictim(const CutState& cut, SliceState& slice, const CacheVictim& victim) {
  if (victim.record.empty()) return;
  ++stats_.rows_evicted;
  if (victim.is_dirty) QueueWrite(cut, slice, victim.row, victim.record.data());
}

}  // namespace rowhouse
