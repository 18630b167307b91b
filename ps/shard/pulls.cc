#include "ps/shard/pulls.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/wire/pull.h"
#include "ps/shard/bags.h"
#include "sharding/rows/record_weights.h"

namespace rowhouse {

namespace {

// A worker has at most a window of pulls under way, of 1 MiB each unless a single bag is larger.
constexpr size_t kMaxPullsOfWorker = 64;
constexpr uint64_t kMaxPullBytesOfWorker = uint64_t{64} << 20;
constexpr uint64_t kPullPartOfRequests = 4;
// Answers of one Serve().
constexpr uint64_t kAnswersAtOnce = uint64_t{8} << 20;

}  // namespace

Status Pulls::Park(PullTask pull) {
  size_t pulls = 0;
  uint64_t bytes = pull.held.bytes();
  const auto count = [&](const PullTask& other) {
    if (other.request.header.sender != pull.request.header.sender) return;
    ++pulls;
    bytes += other.held.bytes();
  };
  for (const PullTask& other : parked_) count(other);
  for (const auto& [number, reading] : reading_) count(reading.task);
  // Whose pulls wait for room must not take that of others' requests.
  const uint64_t most =
      std::min(kMaxPullBytesOfWorker, state_.options.request_memory->limit() / kPullPartOfRequests);
  if (pulls >= kMaxPullsOfWorker || (pulls > 0 && bytes > most)) {
    return MakeStatus(
        StatusCode::kResourceExhausted,
        "{}: worker {} has {} pulls under way, and none more of {} bytes in all may be",
        state_.options.name, pull.request.header.sender, pulls, bytes);
  }
  parked_.push_back(std::move(pull));
  return OkStatus();
}

bool Pulls::Serve() {
  bool serves_all = true, is_full = false;
  waits_for_room_ = false;
  answered_bytes_ = 0;
  for (PullTask& pull : std::exchange(parked_, {})) {
    const uint64_t step = pull.request.header.step;
    if (step < state_.next_step) {
      state_.out.Refuse(pull.request, MakeStatus(StatusCode::kInternal,
                                                 "{}: pull of step {}, but step {} is next",
                                                 state_.options.name, step, state_.next_step));
      continue;
    }
    const bool is_due = step == state_.next_step && !state_.has_failed();
    if (is_due && answered_bytes_ >= kAnswersAtOnce) serves_all = false;
    if (is_due && answered_bytes_ < kAnswersAtOnce && !is_full) {
      const AnswerMemory::Room room = TryToServe(pull);
      if (room == AnswerMemory::Room::kYes) continue;
      waits_for_room_ = true;
      is_full = room == AnswerMemory::Room::kNo;
    }
    parked_.push_back(std::move(pull));
  }
  return serves_all;
}

size_t Pulls::NumbersOf(const PullTask& task) const {
  size_t numbers = 0;
  for (const LocalRows& rows : task.tables) {
    numbers += size_t{rows.rows} * rooms_.tables[rows.table].layout.dim;
  }
  return numbers;
}

uint64_t Pulls::AnswerBytes(const PullTask& task) const {
  const uint64_t of_number = BytesOfWeight(precision());
  uint64_t numbers = NumbersOf(task), floats = 0;
  if (!task.bags.empty()) {
    if (precision() != Precision::kF32) floats += numbers - task.reply_numbers;
    numbers += task.reply_numbers;
  }
  for (const PulledBags& bags : task.bags) {
    floats += 2 * uint64_t{bags.part.bags} * rooms_.tables[bags.table].layout.dim;
    // The places of rows and lookups in the cache (PoolInCache), four bytes each.
    floats += bags.rows.size() + bags.slots.size();
  }
  return numbers * of_number + floats * sizeof(float);
}

AnswerMemory::Room Pulls::TryToServe(PullTask& task) {
  const std::shared_ptr<AnswerMemory>& memory = state_.options.answer_memory;
  const uint32_t worker = task.request.header.sender;
  const uint64_t bytes = AnswerBytes(task);
  const AnswerMemory::Room room = memory->Take(worker, bytes);
  const bool has_room = room == AnswerMemory::Room::kYes;
  if (!has_room && memory->used() > 0) return room;
  // Nothing that ends makes room. What is small is served anyway, one after the other.
  if (!has_room && bytes > kAnswersAtOnce) {
    state_.out.Refuse(
        task.request,
        MakeStatus(StatusCode::kResourceExhausted,
                   "{}: an answer of {} bytes is more than the {} that --memory_limit_mb leaves "
                   "for answers",
                   state_.options.name, bytes, memory->limit()));
  } else {
    ServeOne(std::move(task), AnswerCharge(memory, worker, has_room ? bytes : 0));
  }
  return AnswerMemory::Room::kYes;
}

void Pulls::ForEachWaiting(const std::function<void(Request&)>& visit) {
  for (PullTask& pull : parked_) visit(pull.request);
  for (auto& [number, pull] : reading_) visit(pull.task.request);
}

void Pulls::Clear() {
  parked_.clear();
  reading_.clear();
}

// ---- The first pass: what is in memory ---------------------------------------------------------

void Pulls::ServeOne(PullTask task, AnswerCharge held) {
  const bool eval = task.eval;
  Pull pull{.task = std::move(task), .rows = {}, .held = std::move(held)};
  MissesBySlice misses;
  InitialBySlice initial;
  const uint64_t rows_asked = pull.task.ids.size() / sizeof(uint64_t);
  state_.End(ShardPhase::kOther);
  std::span<const LocalRows> tables = pull.task.tables;
  const bool is_pooled = PoolInCache(pull);
  if (is_pooled) state_.End(ShardPhase::kGather);
  if (is_pooled) tables = tables.first(tables.size() - pull.task.bags.size());
  const size_t numbers = is_pooled ? pull.task.reply_numbers : NumbersOf(pull.task);
  pull.rows = Frame(numbers * BytesOfWeight(precision()));
  TurnTimer turns(state_.fine_phases());
  Place at{.first = 0, .offset = 0};
  for (const LocalRows& rows : tables) {
    GatherRows(pull, rows, at, &misses, &initial, &turns);
    at.first += rows.rows;
    at.offset += size_t{rows.rows} * rooms_.tables[rows.table].layout.dim;
  }
  if (PhaseLog* const fine = state_.fine_phases()) {
    fine->EndTwo(Number(ShardPhase::kLookup), Number(ShardPhase::kGather), turns.share_of_first(),
                 rows_asked);
  } else {
    state_.End(ShardPhase::kGather, rows_asked);
  }
  if (!eval) ++state_.counters.pulls;
  for (const auto& [number, wanted] : initial) {
    LocalSlice& slice = *wanted.front().slice;
    if (!eval) Count(rooms_.tables.TableOf(slice), {.first_touched = wanted.size()});
    if (const Status status = TakeInitialValues(pull, slice, wanted); !status.ok()) {
      return Refuse(pull.task.request, status);
    }
  }
  if (!initial.empty()) state_.End(ShardPhase::kGather);
  if (misses.empty() && pull.coming.empty()) return Answer(std::move(pull));
  pull.has_waited = true;
  if (!eval) ++state_.counters.pulls_from_store;
  ReadMisses(std::move(pull), std::move(misses));
}

bool Pulls::PoolInCache(Pull& pull) {
  const PullTask& task = pull.task;
  if (task.bags.empty() || precision() != Precision::kF32) return false;
  std::vector<std::vector<uint32_t>> slots_of_rows;  // of each list of bags
  for (const PulledBags& bags : task.bags) {
    LocalTable& table = rooms_.tables[bags.table];
    if (table.slices.size() != 1 || table.layout.precision != Precision::kF32) return false;
    if (table.slices.front().cache->capacity_rows() > UINT32_MAX) return false;
    std::vector<uint32_t>& slots = slots_of_rows.emplace_back();
    slots.reserve(bags.rows.size());
    FoundTogether found;
    for (size_t r = 0; r < bags.rows.size(); r += found.size()) {
      const size_t some = std::min(found.size(), bags.rows.size() - r);
      table.FindTogether(std::span(bags.rows).subspan(r, some), &found);
      for (const FoundRow& row : std::span(found).first(some)) {
        if (row.slot == RowCache::kNone) return false;
        slots.push_back(static_cast<uint32_t>(row.slot));
      }
    }
  }
  // Counts of bags' rows are the last ones (Requests::AddRowsOfBags).
  const uint32_t* count = nullptr;
  if (!task.eval) {
    const std::span<const uint32_t> counts = task.counts.As<uint32_t>();
    size_t rows = 0;
    for (const std::vector<uint32_t>& slots : slots_of_rows) rows += slots.size();
    count = counts.last(rows).data();
  }
  std::vector<std::vector<uint32_t>> slots_of_lookups;
  std::vector<RowsOfBags> where;
  for (size_t b = 0; b < task.bags.size(); ++b) {
    const PulledBags& bags = task.bags[b];
    LocalTable& table = rooms_.tables[bags.table];
    LocalSlice& slice = table.slices.front();
    RowCache& cache = *slice.cache;
    const std::vector<uint32_t>& slots = slots_of_rows[b];
    constexpr size_t kAhead = 16;
    for (size_t r = 0; r < slots.size() && !task.eval; ++r) {
      if (r + kAhead < slots.size()) cache.PrefetchCount(slots[r + kAhead]);
      if (slice.reuse != nullptr) slice.reuse->Add(bags.rows[r]);
      cache.Pin(slots[r], task.request.header.step);
      cache.CountLookups(slots[r], *count++);
    }
    Count(table, {.from_memory = task.eval ? 0 : slots.size()});
    std::vector<uint32_t>& of_lookups = slots_of_lookups.emplace_back(bags.slots.size());
    std::ranges::transform(bags.slots, of_lookups.begin(),
                           [&](uint32_t row) { return slots[row]; });
    where.push_back(
        {.rows = {cache.all_values(), kFloatBits, table.layout.bytes()}, .slots = of_lookups});
  }
  pull.pooled = PoolPulledBags(task.bags, where, rooms_.tables);
  return true;
}

void Pulls::PoolGathered(Pull& pull) const {
  const PullTask& task = pull.task;
  std::span<const float> rows = std::as_const(pull.rows).As<float>();
  std::vector<float> unpacked;
  if (precision() == Precision::kF32) {
    rows = rows.subspan(task.reply_numbers);
  } else {
    unpacked.resize(NumbersOf(task) - task.reply_numbers);
    UnpackNumbers(precision(), PlaceOf(pull, task.reply_numbers), unpacked);
    rows = unpacked;
  }
  std::vector<RowsOfBags> where;
  for (const PulledBags& bags : task.bags) {
    const size_t numbers = bags.rows.size() * rooms_.tables[bags.table].layout.dim;
    where.push_back({.rows = rows.first(numbers), .slots = bags.slots});
    rows = rows.subspan(numbers);
  }
  pull.pooled = PoolPulledBags(task.bags, where, rooms_.tables);
  pull.rows =
      Frame::CopyOf(pull.rows.bytes().first(task.reply_numbers * BytesOfWeight(precision())));
}

void Pulls::GatherRows(Pull& pull, const LocalRows& of_table, Place at, MissesBySlice* misses,
                       InitialBySlice* initial, TurnTimer* turns) {
  LocalTable& table = rooms_.tables[of_table.table];
  const bool eval = pull.task.eval;
  const uint64_t step = pull.task.request.header.step;
  const size_t dim = table.layout.dim;
  const std::span<const RowId> rows = pull.task.ids.As<RowId>().subspan(at.first, of_table.rows);
  const std::span<const uint32_t> counts =
      eval ? std::span<const uint32_t>()
           : std::as_const(pull.task.counts).As<uint32_t>().subspan(at.first, of_table.rows);
  std::byte* out = PlaceOf(pull, at.offset);
  const size_t row_bytes = dim * BytesOfWeight(precision());
  FindAhead ahead(table, rows, /*claims=*/false);
  std::span<const FoundRow> found;
  uint64_t from_memory = 0;
  for (size_t i = 0; i < rows.size(); ++i, out += row_bytes) {
    if (i % FindAhead::kAtOnce == 0) {
      turns->BeginFirst();
      found = ahead.Next();
      turns->EndFirst();
    }
    const RowId row = rows[i];
    const FoundRow& where = found[i % FindAhead::kAtOnce];
    LocalSlice& slice = *where.slice;
    if (slice.reuse != nullptr && !eval) slice.reuse->Add(row);
    if (where.slot == RowCache::kNone) {
      const Miss miss{.slice = &slice,
                      .row = row,
                      .count = eval ? 0 : counts[i],
                      .offset = at.offset + i * dim};
      if (rooms_.prefetches.IsComing(slice, row)) {
        pull.coming.push_back(miss);
      } else if (slice.MayBeStored(where.position)) {
        AddMiss(miss, misses);
      } else {
        (*initial)[slice.number].push_back(miss);
      }
      continue;
    }
    PackWeights(precision(), table.layout, slice.cache->values(where.slot), out);
    if (eval) continue;
    slice.cache->Pin(where.slot, step);
    slice.cache->CountLookups(where.slot, counts[i]);
    ++from_memory;
  }
  Count(table, {.from_memory = from_memory});
}

// ---- Rows that were never written --------------------------------------------------------------

// A few rows at a time, from the initialiser straight to their places.
Status Pulls::TakeInitialValues(Pull& pull, LocalSlice& slice, std::span<const Miss> wanted) {
  LocalTable& table = rooms_.tables.TableOf(slice);
  RowCache& cache = *slice.cache;
  const size_t dim = table.spec.dim;
  std::vector<RowId> rows;
  for (const Miss& miss : wanted) rows.push_back(miss.row);
  const bool ascend = std::ranges::adjacent_find(rows, std::greater_equal()) == rows.end();
  std::vector<float> weights(FindAhead::kAtOnce * dim);
  std::vector<std::byte> no_place(table.layout.bytes());
  std::array<RowCache::Slot, FindAhead::kAtOnce> slots;
  std::array<bool, FindAhead::kAtOnce> is_there;
  FindAhead ahead(table, rows, /*claims=*/true);
  for (size_t begin = 0; begin < rows.size(); begin += FindAhead::kAtOnce) {
    const std::span<const FoundRow> found = ahead.Next();
    const std::span<const RowId> now = std::span(rows).subspan(begin, found.size());
    for (size_t i = 0; i < now.size(); ++i) {
      // Where rows do not ascend one may be named twice.
      slots[i] = ascend ? found[i].slot : cache.Find(now[i]);
      is_there[i] = slots[i] != RowCache::kNone;
      if (pull.task.eval) continue;
      if (!is_there[i]) slots[i] = rooms_.admission.Claim(slice, now[i]);
      if (slots[i] == RowCache::kNone) continue;
      // Pinned at once: the next claim must not take the same slot. Pinning reads the trailer.
      std::byte* const record = cache.record(slots[i]);
      if (!is_there[i]) table.layout.set_trailer(record, {});
      CountLookups(table.layout, record, wanted[begin + i].count);
      cache.Pin(slots[i], pull.task.request.header.step);
    }
    RETURN_IF_ERROR(table.initialiser->Fill(now, std::span(weights).first(now.size() * dim)));
    for (size_t i = 0; i < now.size(); ++i) {
      std::byte* const record =
          slots[i] == RowCache::kNone ? no_place.data() : cache.record(slots[i]);
      if (!is_there[i]) {
        table.WriteInitialValue(std::span(weights).subspan(i * dim, dim), record);
      }
      PackWeights(precision(), table.layout, record, PlaceOf(pull, wanted[begin + i].offset));
    }
  }
  return OkStatus();
}

// ---- Rows of the store -------------------------------------------------------------------------

void Pulls::AddMiss(const Miss& miss, MissesBySlice* misses) {
  SliceMisses& of_slice = (*misses)[miss.slice->number];
  of_slice.read.slice = miss.slice->store;
  of_slice.read.rows.push_back(miss.row);
  of_slice.misses.push_back(miss);
}

// Without any misses the read is a fence: when it ends, rows that were on their way have come.
void Pulls::ReadMisses(Pull pull, MissesBySlice misses) {
  std::vector<StoreRead> reads;
  pull.misses.clear();
  for (auto& [number, of_slice] : misses) {
    reads.push_back(std::move(of_slice.read));
    pull.misses.insert(pull.misses.end(), of_slice.misses.begin(), of_slice.misses.end());
  }
  const uint64_t number = next_number_++;
  reading_.emplace(number, std::move(pull));
  rooms_.reader.Read(std::move(reads), [this, number](std::vector<StoreRead> done) {
    Finish(number, std::move(done));
  });
}

void Pulls::Finish(uint64_t number, std::vector<StoreRead> reads) {
  auto entry = reading_.extract(number);
  Pull& pull = entry.mapped();
  state_.End(ShardPhase::kStore);
  if (const uint64_t step = pull.task.request.header.step; step < state_.next_step) {
    // A message that came twice: its worker has the first answer, and has pushed. What was read is
    // older than the step, and must not come into the cache.
    return state_.out.Refuse(
        pull.task.request,
        MakeStatus(StatusCode::kInternal, "{}: rows of step {} were read after it was applied",
                   state_.options.name, step));
  }
  size_t miss = 0;
  for (StoreRead& read : reads) {
    const auto wanted = std::span<const Miss>(pull.misses).subspan(miss, read.rows.size());
    miss += read.rows.size();
    if (const Status status = TakeRead(pull, read, wanted); !status.ok()) {
      return Refuse(pull.task.request, status);
    }
  }
  MissesBySlice misses;
  TakeComing(pull, &misses);
  state_.End(ShardPhase::kGather);
  if (misses.empty()) return Answer(std::move(pull));
  ReadMisses(std::move(pull), std::move(misses));
}

Status Pulls::TakeRead(Pull& pull, StoreRead& read, std::span<const Miss> wanted) {
  LocalSlice& slice = *wanted.front().slice;  // All rows of a read are of one slice.
  LocalTable& table = rooms_.tables.TableOf(slice);
  RETURN_IF_ERROR(table.InitialiseMissing(read));
  if (!pull.task.eval) {
    // The missing rows were never written, though they may have been (ps/store/written_rows.h).
    Count(table, {.first_touched = read.missing.size(),
                  .from_store = read.rows.size() - read.missing.size()});
  }
  std::byte* read_record = read.records.data();
  for (const Miss& miss : wanted) {
    // Another pull may have brought the row in meanwhile.
    const RowCache::Slot slot = slice.cache->Find(miss.row);
    std::byte* const record = slot == RowCache::kNone ? read_record : slice.cache->record(slot);
    read_record += read.slice.record_bytes;
    TakeRow(pull, miss, record);
    if (pull.task.eval) continue;
    if (slot != RowCache::kNone) {
      slice.cache->Pin(slot, pull.task.request.header.step);
    } else {
      rooms_.admission.Admit(slice, miss.row, record, {.is_pinned = true});
    }
  }
  return OkStatus();
}

void Pulls::TakeComing(Pull& pull, MissesBySlice* misses) {
  for (const Miss& wanted : std::exchange(pull.coming, {})) {
    LocalSlice& slice = *wanted.slice;
    const RowCache::Slot slot = slice.cache->Find(wanted.row);
    if (slot == RowCache::kNone) {  // It came, and found no slot.
      AddMiss(wanted, misses);
      continue;
    }
    TakeRow(pull, wanted, slice.cache->record(slot));
    if (pull.task.eval) continue;
    slice.cache->Pin(slot, pull.task.request.header.step);
    Count(rooms_.tables.TableOf(slice), {.from_store = 1});
  }
}

// Counts the lookups of the row and copies its weights to their place.
void Pulls::TakeRow(Pull& pull, const Miss& wanted, std::byte* record) {
  const RecordLayout& layout = rooms_.tables.TableOf(*wanted.slice).layout;
  if (!pull.task.eval) CountLookups(layout, record, wanted.count);
  PackWeights(precision(), layout, record, PlaceOf(pull, wanted.offset));
}

// ---- The answer --------------------------------------------------------------------------------

void Pulls::Count(LocalTable& table, const RowsPulled& pulled) {
  table.pulled.Add(pulled);
  state_.counters.pulled.Add(pulled);
}

void Pulls::Answer(Pull pull) {
  PullTask& task = pull.task;
  Frames payload;
  if (!task.bags.empty() && !pull.pooled) PoolGathered(pull);
  payload.push_back(std::move(pull.rows));
  if (pull.pooled) {
    payload.push_back(std::move(pull.pooled->sums));
    payload.push_back(std::move(pull.pooled->winners));
    if (!task.eval) {
      const Status status = rooms_.pushes.NotePulled(task.request.header, std::move(task.bags));
      if (!status.ok()) return state_.out.Refuse(task.request, status);
    }
  }
  uint64_t bytes = 0;
  for (const Frame& frame : payload) bytes += frame.size();
  if (state_.options.answer_memory->is_limited()) {
    Frame& largest = *std::ranges::max_element(payload, {}, &Frame::size);
    largest = WithCharge(std::move(largest), std::move(pull.held));
  }
  answered_bytes_ += bytes;
  state_.most_answer_bytes = std::max(state_.most_answer_bytes, bytes);
  state_.out.Answer(task.request, PullReply{.has_waited = pull.has_waited}, std::move(payload));
  state_.End(ShardPhase::kEncode, task.ids.size() / sizeof(uint64_t));
}

void Pulls::Refuse(const Request& request, const Status& status) {
  state_.Fail(status);
  state_.out.Refuse(request, state_.failure);
}

}  // namespace rowhouse
