#include "ps/shard/step_update.h"

#include <algorithm>
#include <array>
#include <utility>

#include "sharding/rows/record_weights.h"

namespace rowhouse {

// ---- What was pushed --------------------------------------------------------------------------

void TableTouches::Finish() {
  if (ascend_) return;
  rows_.clear();
  first_.reserve(touches_.size() + 1);
  const auto by_row_then_worker = [](const Touch& a, const Touch& b) {
    return a.row != b.row ? a.row < b.row : a.worker < b.worker;
  };
  if (!std::is_sorted(touches_.begin(), touches_.end(), by_row_then_worker)) {
    std::stable_sort(touches_.begin(), touches_.end(), by_row_then_worker);
  }
  for (size_t i = 0; i < touches_.size(); ++i) {
    if (i > 0 && touches_[i].row == rows_.back()) continue;
    rows_.push_back(touches_[i].row);
    first_.push_back(i);
  }
  first_.push_back(touches_.size());
}

std::span<const float> SumOf(const LocalTable& table, Precision precision,
                             std::span<const Touch> touches, std::span<float> sum) {
  const auto numbers = [](const Touch& of) { return static_cast<const std::byte*>(of.gradient); };
  std::span<const float> gradient(static_cast<const float*>(touches[0].gradient), sum.size());
  uint64_t lookups = touches[0].lookups;
  if (touches.size() > 1 || precision != Precision::kF32) {
    UnpackNumbers(precision, numbers(touches[0]), sum);
    for (const Touch& touch : touches.subspan(1)) {
      AddNumbers(precision, numbers(touch), sum);
      lookups += touch.lookups;
    }
    gradient = sum;
  }
  if (table.spec.scale_grad_by_freq && lookups > 1) {
    // `gradient` may be `sum` itself.
    std::transform(
        gradient.begin(), gradient.end(), sum.begin(),
        [divisor = static_cast<float>(lookups)](float value) { return value / divisor; });
    gradient = sum;
  }
  return gradient;
}

namespace {

size_t DimOf(const LocalTables& tables, uint32_t table) { return tables[table].layout.dim; }

// The rows of a part, as they were pushed.
void AddRows(const PushPart& part, uint32_t worker, Precision precision, const LocalTables& tables,
             std::vector<TableTouches>* touches) {
  const RowId* row = part.ids.As<RowId>().data();
  const std::byte* gradient = part.gradients.data();
  const bool is_counted = part.counts.size() > 0;
  const uint32_t* count = part.counts.As<uint32_t>().data();
  for (const LocalRows& rows : part.tables) {
    TableTouches& of_table = (*touches)[rows.table];
    const size_t bytes = DimOf(tables, rows.table) * BytesOfWeight(precision);
    for (uint32_t i = 0; i < rows.rows; ++i, gradient += bytes) {
      of_table.Add({*row++, worker, is_counted ? *count++ : 0, gradient});
    }
  }
}

// By index of the table. `of_bags` keeps the gradients that bags give to rows; rows of one table
// are pushed either as rows or as bags.
std::vector<TableTouches> TouchesOf(const StepPushes& pushes, Precision precision,
                                    const LocalTables& tables,
                                    std::vector<std::map<uint32_t, RowGradients>>* of_bags) {
  std::vector<size_t> count(tables.size());
  for (const WorkerPush& worker : pushes.workers) {
    for (const auto& [number, part] : worker.parts) {
      for (const LocalRows& rows : part->tables) count[rows.table] += rows.rows;
    }
  }
  for (const WorkerPush& worker : pushes.workers) {
    std::vector<PushedBags> bags;
    for (const auto& [number, part] : worker.parts) {
      if (!part->bags.empty()) bags.push_back(part->pushed_bags());
    }
    of_bags->push_back(GradientsOfBags(bags, worker.pulled_bags, tables));
    for (const auto& [table, of_table] : of_bags->back()) count[table] += of_table.rows.size();
  }
  std::vector<TableTouches> touches(tables.size());
  for (size_t t = 0; t < touches.size(); ++t) touches[t].Reserve(count[t]);
  for (uint32_t w = 0; w < pushes.workers.size(); ++w) {
    for (const auto& [number, part] : pushes.workers[w].parts) {
      AddRows(*part, w, precision, tables, &touches);
    }
  }
  for (uint32_t w = 0; w < of_bags->size(); ++w) {
    for (const auto& [table, of_table] : (*of_bags)[w]) {
      for (const RowId row : of_table.rows) touches[table].Add({row, w, 0, nullptr});
    }
  }
  for (TableTouches& of_table : touches) of_table.Finish();
  return touches;
}

}  // namespace

// ---- The update -------------------------------------------------------------------------------

void StepUpdate::Apply(const StepPushes& pushes) {
  context_ = {.step = state_.next_step, .learning_rate = pushes.learning_rate()};
  work_ = std::make_unique<Work>();
  work_->touches = TouchesOf(pushes, precision(), rooms_.tables, &work_->of_bags);
  if (PhaseLog* const fine = state_.fine_phases()) fine->End(state_.phases->update_merge);
  GoOn();
}

void StepUpdate::GoOn() {
  constexpr size_t kRowsAtOnce = 8192;
  TurnTimer turns(state_.fine_phases());
  size_t rows = 0;
  while (work_->table < work_->touches.size() && rows < kRowsAtOnce) {
    const TableTouches& touches = work_->touches[work_->table];
    const size_t begin = work_->row, all = touches.rows().size();
    const size_t end = std::min(all, begin + kRowsAtOnce - rows);
    SumBags(static_cast<uint32_t>(work_->table), begin, end);
    UpdateRows(rooms_.tables[work_->table], touches, begin, end, &turns);
    rows += end - begin;
    work_->row = end < all ? end : 0;
    if (end == all) ++work_->table;
  }
  if (PhaseLog* const fine = state_.fine_phases()) {
    fine->EndTwo(state_.phases->update_lookup, state_.phases->update_rows, turns.share_of_first(),
                 rows);
  }
  if (work_->table == work_->touches.size()) EndWork(std::move(*std::exchange(work_, nullptr)));
}

void StepUpdate::EndWork(Work work) {
  for (const auto& [number, of_slice] : work.never_written) {
    StoreRead read = of_slice.Read();
    MarkAllMissing(read);
    if (const Status status = UpdateMisses(of_slice, read); !status.ok()) {
      return state_.Fail(status);
    }
  }
  if (work.stored.empty()) return done_();
  ReadMisses(std::move(work.stored));
}

// The gradients that bags give to rows [begin, end) of a table, whose touches ascend by row, and
// so of each worker.
void StepUpdate::SumBags(uint32_t table, size_t begin, size_t end) {
  const size_t dim = DimOf(rooms_.tables, table);
  const std::span<const RowId> rows = work_->touches[table].rows().subspan(begin, end - begin);
  std::vector<std::vector<const void*>> gradients(work_->of_bags.size());  // of each worker
  work_->sums.resize(gradients.size());
  bool has_bags = false;
  for (size_t w = 0; w < gradients.size(); ++w) {
    const auto found = work_->of_bags[w].find(table);
    if (found == work_->of_bags[w].end() || rows.empty()) continue;
    has_bags = true;
    const RowGradients& of_worker = found->second;
    const auto place_of = [&](RowId row) {
      return static_cast<size_t>(std::ranges::lower_bound(of_worker.rows, row) -
                                 of_worker.rows.begin());
    };
    const size_t first = place_of(rows.front());
    const size_t last = place_of(RowId{Raw(rows.back()) + 1});
    RowSums& sums = work_->sums[w];
    const std::vector<const float*> floats = of_worker.Sum(first, last, dim, &sums.sums);
    gradients[w].assign(floats.begin(), floats.end());
    if (precision() == Precision::kF32) continue;
    sums.packed.resize(floats.size() * dim * BytesOfWeight(precision()));
    std::byte* to = sums.packed.data();
    for (const void*& gradient : gradients[w]) {
      PackNumbers(precision(), {static_cast<const float*>(gradient), dim}, to);
      gradient = to;
      to += dim * BytesOfWeight(precision());
    }
  }
  if (!has_bags) return;
  std::vector<size_t> next(gradients.size());
  for (Touch& touch : work_->touches[table].Of(begin, end)) {
    if (touch.gradient != nullptr) continue;  // pushed as a row
    touch.gradient = gradients[touch.worker][next[touch.worker]++];
  }
}

void StepUpdate::UpdateRows(LocalTable& table, const TableTouches& touches, size_t begin,
                            size_t end, TurnTimer* turns) {
  const size_t dim = table.layout.dim;
  const std::span<const RowId> rows = touches.rows().subspan(begin, end - begin);
  std::vector<float> sums(FindAhead::kAtOnce * dim);
  std::array<RecordUpdate, FindAhead::kAtOnce> updates;
  MarkedRows& marked = rooms_.writer.marked();
  FindAhead ahead(table, rows, /*claims=*/false);
  for (size_t r = 0; r < rows.size();) {
    turns->BeginFirst();
    const std::span<const FoundRow> found = ahead.Next();
    turns->EndFirst();
    size_t cached = 0;
    for (size_t i = 0; i < found.size(); ++i, ++r) {
      const FoundRow& where = found[i];
      const std::span<const float> gradient =
          SumOf(table, precision(), touches.Of(begin + r), std::span(sums).subspan(i * dim, dim));
      LocalSlice& slice = *where.slice;
      if (where.slot == RowCache::kNone) {
        MissesBySlice& misses =
            slice.MayBeStored(where.position) ? work_->stored : work_->never_written;
        SliceMisses& of_slice = misses[slice.number];
        of_slice.slice = &slice;
        of_slice.misses.push_back({rows[r], {gradient.begin(), gradient.end()}});
        continue;
      }
      std::byte* const record = slice.cache->record(where.slot);
      marked.BeforeUpdate(slice, rows[r], where.slot, record);
      slice.cache->set_dirty(where.slot);
      updates[cached++] = {.row = rows[r], .gradient = gradient.data(), .record = record};
    }
    Update(table, std::span(updates).first(cached));
  }
}

void StepUpdate::Update(const LocalTable& table, std::span<const RecordUpdate> rows) {
  UpdateRecords(table.spec, *table.optimizer, table.layout, table.first_column, context_.step,
                context_.learning_rate, rows);
  state_.counters.rows_updated += rows.size();
}

// ---- Rows that were not in the cache ------------------------------------------------------------

StoreRead StepUpdate::SliceMisses::Read() const {
  StoreRead read = ReadOf(*slice);
  read.rows.reserve(misses.size());
  for (const Miss& miss : misses) read.rows.push_back(miss.row);
  return read;
}

void StepUpdate::ReadMisses(MissesBySlice misses) {
  std::vector<StoreRead> reads;
  reading_.clear();
  for (auto& [number, of_slice] : misses) {
    reads.push_back(of_slice.Read());
    reading_.push_back(std::move(of_slice));
  }
  is_reading_ = true;
  rooms_.reader.Read(std::move(reads),
                     [this](std::vector<StoreRead> done) { Finish(std::move(done)); });
}

void StepUpdate::Finish(std::vector<StoreRead> reads) {
  state_.End(ShardPhase::kStore);
  for (size_t i = 0; i < reads.size(); ++i) {
    if (const Status status = UpdateMisses(reading_[i], reads[i]); !status.ok()) {
      return state_.Fail(status);
    }
  }
  reading_.clear();
  is_reading_ = false;
  state_.End(ShardPhase::kUpdate);
  done_();
}

Status StepUpdate::UpdateMisses(const SliceMisses& of_slice, StoreRead& read) {
  LocalSlice& slice = *of_slice.slice;
  LocalTable& table = rooms_.tables.TableOf(slice);
  RETURN_IF_ERROR(table.InitialiseMissing(read));
  std::byte* record = read.records.data();
  for (const Miss& miss : of_slice.misses) {
    // A pull of the same step, still under way when its worker pushed, may have brought it in.
    const RowCache::Slot slot = slice.cache->Find(miss.row);
    std::byte* const cached = slot == RowCache::kNone ? record : slice.cache->record(slot);
    rooms_.writer.marked().BeforeUpdate(slice, miss.row, slot, cached);
    const RecordUpdate update{.row = miss.row, .gradient = miss.gradient.data(), .record = cached};
    Update(table, {&update, 1});
    if (slot != RowCache::kNone) {
      slice.cache->set_dirty(slot);
    } else {
      if (!rooms_.admission.Admit(slice, miss.row, record, {.is_dirty = true})) {
        rooms_.writer.Queue(slice, miss.row, record);
      }
    }
    record += read.slice.record_bytes;
  }
  return OkStatus();
}

}  // namespace rowhouse
