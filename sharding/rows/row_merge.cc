#include "sharding/rows/row_merge.h"

#include <glog/logging.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

namespace rowhouse {
namespace {

constexpr uint32_t kDigitBits = 11;
constexpr uint64_t kDigits = uint64_t{1} << kDigitBits;
// Below this a comparison sort beats clearing and summing the histograms.
constexpr size_t kMinRadixKeys = 256;

// Sorts `keys` by the lowest `bits` of id_of(key), stable, least significant digit first.
// `scratch` has the size of `keys`.
template <typename Key, typename IdOf>
void RadixSort(uint32_t bits, std::vector<Key>* keys, std::vector<Key>* scratch, IdOf id_of) {
  for (uint32_t shift = 0; shift < bits; shift += kDigitBits) {
    std::array<uint32_t, kDigits> starts = {};
    for (const Key& key : *keys) ++starts[(id_of(key) >> shift) % kDigits];
    uint32_t sum = 0;
    for (uint32_t& start : starts) {
      const uint32_t count = start;
      start = sum;
      sum += count;
    }
    for (const Key& key : *keys) (*scratch)[starts[(id_of(key) >> shift) % kDigits]++] = key;
    keys->swap(*scratch);
  }
}

// `keys` are sorted by id.
template <typename Key, typename IdOf, typename PositionOf>
void WalkSorted(const std::vector<Key>& keys, IdOf id_of, PositionOf position_of,
                std::vector<RowId>* rows, std::vector<uint32_t>* counts,
                std::vector<uint32_t>* slots) {
  for (const Key& key : keys) {
    if (rows->empty() || Raw(rows->back()) != id_of(key)) {
      rows->push_back(RowId{id_of(key)});
      counts->push_back(0);
    }
    ++counts->back();
    (*slots)[position_of(key)] = static_cast<uint32_t>(rows->size() - 1);
  }
}

}  // namespace

void RowMerge::Merge(std::span<const uint64_t> ids, std::vector<RowId>* rows,
                     std::vector<uint32_t>* counts, std::vector<uint32_t>* slots) {
  CHECK_LT(ids.size(), std::numeric_limits<uint32_t>::max());
  rows->clear();
  counts->clear();
  slots->resize(ids.size());
  if (ids.empty()) return;

  const uint64_t max_id = *std::max_element(ids.begin(), ids.end());
  // Counting walks an array of max_id + 1 values with a branch each: measured to be three times as
  // fast as sorting at half a row a lookup, as fast at one, half as fast at four.
  if (max_id < ids.size()) {
    return MergeByCounting(ids, max_id, rows, counts, slots);
  }
  const auto bits = static_cast<uint32_t>(std::bit_width(max_id));
  if (bits <= 32) {
    const auto id_of = [](uint64_t key) { return key >> 32; };
    const auto position_of = [](uint64_t key) { return static_cast<uint32_t>(key); };
    narrow_.resize(ids.size());
    narrow_scratch_.resize(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) narrow_[i] = ids[i] << 32 | i;
    if (ids.size() < kMinRadixKeys) {
      std::sort(narrow_.begin(), narrow_.end());
    } else {
      RadixSort(bits, &narrow_, &narrow_scratch_, id_of);
    }
    WalkSorted(narrow_, id_of, position_of, rows, counts, slots);
  } else {
    const auto id_of = [](const WideKey& key) { return key.id; };
    const auto position_of = [](const WideKey& key) { return key.position; };
    wide_.resize(ids.size());
    wide_scratch_.resize(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) wide_[i] = {ids[i], static_cast<uint32_t>(i)};
    if (ids.size() < kMinRadixKeys) {
      std::sort(wide_.begin(), wide_.end(),
                [](const WideKey& a, const WideKey& b) { return a.id < b.id; });
    } else {
      RadixSort(bits, &wide_, &wide_scratch_, id_of);
    }
    WalkSorted(wide_, id_of, position_of, rows, counts, slots);
  }
}

void RowMerge::MergeByCounting(std::span<const uint64_t> ids, uint64_t max_id,
                               std::vector<RowId>* rows, std::vector<uint32_t>* counts,
                               std::vector<uint32_t>* slots) {
  by_id_.assign(max_id + 1, 0);
  for (const uint64_t id : ids) ++by_id_[id];
  for (uint64_t id = 0; id <= max_id; ++id) {
    const uint32_t lookups = by_id_[id];
    if (lookups == 0) continue;
    by_id_[id] = static_cast<uint32_t>(rows->size());
    rows->push_back(RowId{id});
    counts->push_back(lookups);
  }
  for (size_t i = 0; i < ids.size(); ++i) (*slots)[i] = by_id_[ids[i]];
}

}  // namespace rowhouse
