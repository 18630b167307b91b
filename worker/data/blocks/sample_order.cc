#include "worker/data/blocks/sample_order.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>

#include "common/nearest_name.h"
#include "common/numpy_random.h"
#include "common/random.h"
#include "worker/data/blocks/sample_split.h"

namespace rowhouse {
namespace {

constexpr uint64_t kOrderPurpose = 2;         // of keys; sample_split.cc has others
constexpr uint64_t kOverBlocks = UINT64_MAX;  // no sample has this number

}  // namespace

// ---- BlockOrder
// ----------------------------------------------------------------------------------

void BlockOrder::ShuffleBy(uint64_t key) {
  is_shuffled_ = true;
  key_ = key;
  OrderBlocks();
}

void BlockOrder::OrderBlocks() {
  const size_t count = split_->layout().blocks();
  blocks_.resize(count);
  std::iota(blocks_.begin(), blocks_.end(), 0u);
  if (is_shuffled_) KeyedShuffle(MixKey(key_, kOverBlocks), count, std::span(blocks_));
  before_.assign(1, 0);
  for (const uint32_t block : blocks_) {
    before_.push_back(before_.back() + split_->SamplesBefore(part_, block + 1) -
                      split_->SamplesBefore(part_, block));
  }
  listed_ = SIZE_MAX;
}

void BlockOrder::ListBlock(size_t at) {
  if (listed_ == at) return;
  const uint32_t block = blocks_[at];
  split_->List(part_, block, &samples_);
  if (is_shuffled_) {
    const uint64_t key = MixKey(key_, split_->layout().first_samples[block]);
    KeyedShuffle(key, samples_.size(), std::span(samples_));
  }
  listed_ = at;
}

void BlockOrder::Append(uint64_t first, uint64_t count, std::vector<SamplePlace>* places) {
  if (count == 0) return;
  CHECK(first < before_.back() && count <= before_.back() - first) << first << " + " << count;
  auto at = static_cast<size_t>(std::ranges::upper_bound(before_, first) - before_.begin()) - 1;
  for (; count > 0; ++at) {
    if (before_[at + 1] == first) continue;  // A block without samples of this part.
    ListBlock(at);
    const uint64_t from = first - before_[at], taken = std::min(count, before_[at + 1] - first);
    for (uint64_t i = from; i < from + taken; ++i) places->push_back({blocks_[at], samples_[i]});
    first += taken;
    count -= taken;
  }
}

// ---- SampleOrder
// ---------------------------------------------------------------------------------

SampleOrder::SampleOrder(std::shared_ptr<const SampleSplit> split, uint64_t seed)
    : split_(split),
      seed_(seed),
      train_(split, SampleSplit::Part::kTrain),
      test_(split, SampleSplit::Part::kTest) {}

Result<std::unique_ptr<SampleOrder>> SampleOrder::Make(std::shared_ptr<const SampleSplit> split,
                                                       const std::string& order, uint64_t seed) {
  const std::vector<std::string> names = {"blocks", "day", "none", "total"};
  if (!std::ranges::count(names, order)) {
    return UsageError("unknown data_randomize \"{}\" {}", order, DescribeKnownNames(order, names));
  }
  std::unique_ptr<SampleOrder> made(new SampleOrder(std::move(split), seed));
  if (order == "total" || order == "day") RETURN_IF_ERROR(made->MakeIndex(order == "day"));
  made->is_shuffled_ = order == "blocks";
  return made;
}

Status SampleOrder::MakeIndex(bool by_day) {
  const uint64_t samples = train_samples();
  if (split_->layout().samples() > std::numeric_limits<uint32_t>::max() ||
      samples * sizeof(uint32_t) > kMaxIndexBytes) {
    return UsageError(
        "data_randomize {} keeps the order of all {} train samples in the memory of each worker, "
        "4 bytes each, and at most {} MiB: choose --data_randomize=blocks, which shuffles blocks "
        "and "
        "within them and keeps one block's order",
        by_day ? "day" : "total", samples, kMaxIndexBytes >> 20);
  }
  if (seed_ > std::numeric_limits<uint32_t>::max()) {
    return UsageError("seed {} is not below 2^32, as numpy's permutation needs", seed_);
  }
  index_.reserve(samples);
  std::vector<uint32_t> list;
  for (size_t block = 0; block < split_->layout().blocks(); ++block) {
    split_->List(SampleSplit::Part::kTrain, block, &list);
    const uint64_t first = split_->layout().first_samples[block];
    for (const uint32_t sample : list) index_.push_back(static_cast<uint32_t>(first + sample));
  }
  NumpyRandom random(static_cast<uint32_t>(seed_));
  if (!by_day) {
    random.Shuffle(std::span(index_));
    return OkStatus();
  }
  size_t begin = 0;
  for (const uint64_t bound : split_->DayBounds()) {
    const auto end = static_cast<size_t>(
        std::partition_point(index_.begin() + static_cast<ptrdiff_t>(begin), index_.end(),
                             [bound](uint32_t sample) { return sample < bound; }) -
        index_.begin());
    random.Shuffle(std::span(index_).subspan(begin, end - begin));
    begin = end;
  }
  return OkStatus();
}

void SampleOrder::TrainPlaces(uint64_t epoch, uint64_t first, uint64_t count,
                              std::vector<SamplePlace>* places) {
  places->clear();
  if (!index_.empty()) {
    CHECK(first <= index_.size() && count <= index_.size() - first);
    const std::vector<uint64_t>& firsts = split_->layout().first_samples;
    for (uint64_t i = first; i < first + count; ++i) {
      const auto block = static_cast<size_t>(std::ranges::upper_bound(firsts, uint64_t{index_[i]}) -
                                             firsts.begin() - 1);
      places->push_back(
          {static_cast<uint32_t>(block), static_cast<uint32_t>(index_[i] - firsts[block])});
    }
    return;
  }
  if (is_shuffled_ && epoch != epoch_) {
    train_.ShuffleBy(MixKey(MixKey(seed_, kOrderPurpose), epoch));
    epoch_ = epoch;
  }
  train_.Append(first, count, places);
}

void SampleOrder::TestPlaces(uint64_t first, uint64_t count, std::vector<SamplePlace>* places) {
  places->clear();
  test_.Append(first, count, places);
}

}  // namespace rowhouse
