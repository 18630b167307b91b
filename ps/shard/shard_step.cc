// One step: gradients summed in worker-rank order, one update of every touched row.
#include <algorithm>
#include <numeric>

#include "common/kernels/row_updates.h"
#include "ps/shard/shard.h"
#include "sharding/rows/record_update.h"

namespace rowhouse {

void Shard::UpdateTouched(CutState& cut, RowId row, std::span<const float> gradient,
                          std::byte* record) {
  UpdateRecord(cut.spec, *cut.optimizer, cut.layout, {row, cut.first_column}, apply_context_.step,
               apply_context_.learning_rate, gradient, record);
  ++stats_.rows_updated;
}

// Sums the gradients of each touched row in worker-rank order, starting from the first worker
// that has the row (scale_grad_by_freq: and divides the sum by the lookups of all workers), and
// updates it once. Rows that are stored and not in memory are read first; FinishApply does them.
void Shard::ApplyStep() {
  const StepPushes& step = pushes_.at(next_step_);
  apply_context_ = {.step = next_step_, .learning_rate = step.workers[0].learning_rate};

  struct Touch {
    RowId row;
    uint32_t worker;
    uint32_t lookups;  // 0 where the push does not say
    const float* gradient;
  };
  std::vector<std::vector<Touch>> touched(cuts_.size());
  std::vector<size_t> touches_of_cut(cuts_.size());
  for (const WorkerPush& worker : step.workers) {
    for (const auto& [k, part] : worker.parts) {
      for (const CutRows& rows : part->parts) touches_of_cut[rows.cut] += rows.rows;
    }
  }
  for (size_t c = 0; c < touched.size(); ++c) touched[c].reserve(touches_of_cut[c]);
  for (uint32_t w = 0; w < step.workers.size(); ++w) {
    for (const auto& [k, part] : step.workers[w].parts) {
      const uint64_t* id = part->ids.As<uint64_t>().data();
      const float* gradient = part->gradients.As<float>().data();
      const bool is_counted = part->counts.size() > 0;
      const uint32_t* count = part->counts.As<uint32_t>().data();
      for (const CutRows& rows : part->parts) {
        std::vector<Touch>& touches = touched[rows.cut];
        for (uint32_t i = 0; i < rows.rows; ++i) {
          touches.push_back({RowId{*id++}, w, is_counted ? *count++ : 0, gradient});
          gradient += cuts_[rows.cut].layout.dim;
        }
      }
    }
  }

  // Rows of one cut are pushed either so or so.
  std::vector<std::map<uint32_t, BagGradients>> of_bags;
  for (uint32_t w = 0; w < step.workers.size(); ++w) {
    of_bags.push_back(GradientsOfBags(step, w));
    for (const auto& [cut, bags] : of_bags.back()) {
      const float* gradient = bags.gradients.data();
      for (const uint64_t row : bags.rows) {
        touched[cut].push_back({RowId{row}, w, 0, gradient});
        gradient += cuts_[cut].layout.dim;
      }
    }
  }

  struct Missed {
    StoreRead read;
    std::vector<ApplyMiss> touched;
  };
  std::map<const SliceState*, Missed> stored, never_written;  // and not in the cache
  std::vector<float> sum;
  std::vector<RowId> rows;          // touched, ascending
  std::vector<size_t> first_touch;  // of each, and one past the end
  for (uint32_t c = 0; c < touched.size(); ++c) {
    std::vector<Touch>& touches = touched[c];
    CutState& cut = cuts_[c];
    const size_t dim = cut.layout.dim;
    const auto by_row_then_worker = [](const Touch& a, const Touch& b) {
      return a.row != b.row ? a.row < b.row : a.worker < b.worker;
    };
    if (!std::is_sorted(touches.begin(), touches.end(), by_row_then_worker)) {
      std::stable_sort(touches.begin(), touches.end(), by_row_then_worker);
    }
    sum.resize(dim);
    rows.clear();
    first_touch.clear();
    for (size_t i = 0; i < touches.size(); ++i) {
      if (i > 0 && touches[i].row == rows.back()) continue;
      rows.push_back(touches[i].row);
      first_touch.push_back(i);
    }
    first_touch.push_back(touches.size());
    FindAhead ahead(cut, rows, /*claims=*/false, [&](size_t begin, size_t end) {
      const std::span<const Touch> of_rows(touches.data() + first_touch[begin],
                                           touches.data() + first_touch[end]);
      for (const Touch& touch : of_rows) {
        for (size_t at = 0; at < dim; at += 64 / sizeof(float)) {
          __builtin_prefetch(touch.gradient + at);
        }
      }
    });
    std::span<const FindAhead::Found> found;
    for (size_t r = 0; r < rows.size(); ++r) {
      if (r % RowCache::kTogether == 0) found = ahead.Next();
      const RowId row = rows[r];
      const size_t first = first_touch[r], end = first_touch[r + 1];
      std::span<const float> gradient(touches[first].gradient, dim);
      uint64_t lookups = touches[first].lookups;
      if (first + 1 < end) {
        std::copy(gradient.begin(), gradient.end(), sum.begin());
        for (size_t i = first + 1; i < end; ++i) {
          AddRow(std::span<const float>(touches[i].gradient, dim), sum);
          lookups += touches[i].lookups;
        }
        gradient = sum;
      }
      if (cut.spec.scale_grad_by_freq && lookups > 1) {
        // `gradient` may be `sum` itself.
        std::transform(
            gradient.begin(), gradient.end(), sum.begin(),
            [divisor = static_cast<float>(lookups)](float value) { return value / divisor; });
        gradient = sum;
      }
      const auto [slice, slot] = found[r % RowCache::kTogether];
      if (slot == RowCache::kNone) {
        Missed& missed =
            (slice->MayBeStored(cut.order.PositionOf(row)) ? stored : never_written)[slice];
        missed.read.slice = slice->store;
        missed.read.rows.push_back(row);
        missed.touched.push_back({c, row, {gradient.begin(), gradient.end()}});
        continue;
      }
      UpdateTouched(cut, row, gradient, slice->cache->record(slot));
      slice->cache->set_dirty(slot);
    }
  }
  for (auto& [slice, missed] : never_written) {
    StoreRead& read = missed.read;
    read.records.resize(read.rows.size() * read.slice.record_bytes);
    read.missing.resize(read.rows.size());
    std::iota(read.missing.begin(), read.missing.end(), size_t{0});
    if (Status status = ApplyToRead(read, missed.touched); !status.ok()) {
      return Fail(std::move(status));
    }
  }
  if (stored.empty()) return EndStep();

  ReadRows action{.ticket = next_ticket_++, .reads = {}};
  apply_misses_.clear();
  for (auto& [slice, missed] : stored) {
    missed.read.records.resize(missed.read.rows.size() * missed.read.slice.record_bytes);
    action.reads.push_back(std::move(missed.read));
    std::move(missed.touched.begin(), missed.touched.end(), std::back_inserter(apply_misses_));
  }
  applying_ = true;
  apply_ticket_ = action.ticket;
  FlushQueuedWrites();
  actions_.emplace_back(std::move(action));
}

void Shard::FinishApply(std::vector<StoreRead> reads) {
  size_t miss = 0;
  for (StoreRead& read : reads) {
    const auto touched = std::span<const ApplyMiss>(apply_misses_).subspan(miss, read.rows.size());
    miss += read.rows.size();
    if (Status status = ApplyToRead(read, touched); !status.ok()) return Fail(std::move(status));
  }
  apply_misses_.clear();
  applying_ = false;
  EndStep();
}

Status Shard::ApplyToRead(StoreRead& read, std::span<const ApplyMiss> touched) {
  CutState& cut = CutOf(read.slice);
  RETURN_IF_ERROR(InitialiseMissing(cut, read));
  for (size_t i = 0; i < read.rows.size(); ++i) {
    const ApplyMiss& touch = touched[i];
    SliceState& slice = *cut.Find(touch.row);
    // A pull of the same step, still under way when its worker pushed, may have brought it in.
    if (const RowCache::Slot slot = slice.cache->Find(touch.row); slot != RowCache::kNone) {
      UpdateTouched(cut, touch.row, touch.gradient, slice.cache->record(slot));
      slice.cache->set_dirty(slot);
      continue;
    }
    std::byte* record = read.records.data() + i * read.slice.record_bytes;
    UpdateTouched(cut, touch.row, touch.gradient, record);
    if (!Admit(cut, slice, touch.row, record, /*dirty=*/true, /*pin=*/false)) {
      QueueWrite(cut, slice, touch.row, record);
    }
  }
  return OkStatus();
}

void Shard::EndStep() {
  pushes_.erase(next_step_);
  ++next_step_;
  PrefetchAgain();
  Sweep();
  MoveCaches();
}

}  // namespace rowhouse
