#include "worker/train/lookahead.h"

#include <algorithm>
#include <utility>

namespace rowhouse {

Lookahead::Lookahead(Reader read, const EmbeddingTables& tables, uint32_t max_steps, uint64_t end)
    : read_(std::move(read)), max_steps_(max_steps), end_(end), rows_(tables, &unused_) {}

Lookahead::Ahead& Lookahead::Read(uint64_t step) {
  while (first_ + ahead_.size() <= step) {
    std::unique_ptr<Ahead> next = std::exchange(spare_, nullptr);
    if (next == nullptr) next = std::make_unique<Ahead>();
    next->status = read_(first_ + ahead_.size(), &next->batch);
    ahead_.push_back(std::move(next));
  }
  return *ahead_[step - first_];
}

size_t Lookahead::bytes() const {
  size_t all = spare_ == nullptr ? 0 : spare_->batch.bytes();
  for (const std::unique_ptr<Ahead>& ahead : ahead_) all += ahead->batch.bytes();
  return all;
}

Result<const Batch*> Lookahead::Take(uint64_t step) {
  while (!ahead_.empty() && first_ < step) {
    spare_ = std::move(ahead_.front());
    ahead_.pop_front();
    ++first_;
  }
  if (ahead_.empty()) first_ = step;
  CHECK_EQ(first_, step) << "steps are taken one after the other";
  const Ahead& taken = Read(step);
  RETURN_IF_ERROR(taken.status);
  prefetched_ = std::max(prefetched_, step + 1);
  return &taken.batch;
}

const std::vector<RowBatch>* Lookahead::NextToPrefetch(uint64_t* step) {
  while (prefetched_ < std::min(end_, first_ + 1 + steps_ahead_)) {
    *step = prefetched_++;
    const Ahead& next = Read(*step);
    if (!next.status.ok() || !rows_.Prepare(next.batch.features).ok()) continue;
    return &rows_.row_batches();
  }
  return nullptr;
}

void Lookahead::OnPulled(bool has_waited) {
  quiet_steps_ = has_waited ? 0 : quiet_steps_ + 1;
  if (has_waited) {
    steps_ahead_ = std::min(steps_ahead_ + 1, max_steps_);
  } else if (quiet_steps_ >= kQuietSteps && steps_ahead_ > 0) {
    --steps_ahead_;
    quiet_steps_ = 0;
  }
}

}  // namespace rowhouse
