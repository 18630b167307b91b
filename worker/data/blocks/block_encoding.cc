#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "worker/data/blocks/block.h"

namespace rowhouse {
namespace {

// The different floats among some, numbered from 0 by first appearance.
class FloatDictionary {
 public:
  // False if there are more than `limit` different ones.
  bool Number(std::span<const float> values, size_t limit) {
    for (const float value : values) {
      const uint32_t number = NumberOf(std::bit_cast<uint32_t>(value));
      if (number >= limit) return false;
      numbers_.push_back(static_cast<uint16_t>(number));
    }
    return true;
  }
  const std::vector<uint32_t>& entries() const { return entries_; }  // bits
  const std::vector<uint16_t>& numbers() const { return numbers_; }  // of each value

 private:
  static constexpr uint32_t kFree = UINT32_MAX;

  uint32_t NumberOf(uint32_t bits) {
    uint32_t& slot = Find(bits);
    if (slot != kFree) return slot;
    const auto number = static_cast<uint32_t>(entries_.size());
    slot = number;
    entries_.push_back(bits);
    if (2 * entries_.size() > slots_.size()) Grow();
    return number;
  }
  uint32_t& Find(uint32_t bits) {
    size_t at = (bits * 0x9e3779b1u) >> shift_;
    while (slots_[at] != kFree && entries_[slots_[at]] != bits) at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }
  void Grow() {
    slots_.assign(4 * slots_.size(), kFree);
    shift_ -= 2;
    for (uint32_t number = 0; number < entries_.size(); ++number) Find(entries_[number]) = number;
  }

  std::vector<uint32_t> entries_, slots_ = std::vector<uint32_t>(1024, kFree);
  int shift_ = 32 - 10;
  std::vector<uint16_t> numbers_;
};

int BytesFor(uint64_t largest) { return static_cast<int>(std::bit_width(largest) + 7) / 8; }

// Collects the arrays of a block, in order.
class BlockBuilder {
 public:
  BlockBuilder(uint64_t samples, size_t arrays) {
    BlockHeader header = {};
    std::memcpy(header.magic, kBlockMagic, sizeof(kBlockMagic));
    header.samples = static_cast<uint32_t>(samples);
    header.arrays = static_cast<uint32_t>(arrays);
    bytes_.append(reinterpret_cast<const char*>(&header), sizeof(header));
    bytes_.resize(sizeof(BlockHeader) + arrays * sizeof(BlockArray));
  }

  template <typename Number>
  void AddIntegers(std::span<const Number> values) {
    if (values.empty()) return Begin(ArrayEncoding::kIntegers, 0, 0, 0);
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    const int width = BytesFor(*most - *least);
    Begin(ArrayEncoding::kIntegers, width, values.size(), *least);
    AppendNumbers(values, *least, width);
  }

  void AddOffsets(std::span<const uint32_t> offsets) {
    const uint32_t length = offsets[1];
    bool is_fixed = true;
    for (size_t i = 0; i < offsets.size() && is_fixed; ++i) {
      is_fixed = offsets[i] == uint64_t{length} * i;
    }
    if (!is_fixed) return AddIntegers(offsets);
    Begin(ArrayEncoding::kMultiples, 0, offsets.size(), length);
  }

  void AddFloats(std::span<const float> values) {
    FloatDictionary dictionary;
    // 2 bytes a value and 4 an entry must be less than 4 bytes a value.
    const size_t limit = std::clamp<size_t>(values.size() / 2, 1, 65536);
    if (!values.empty() && dictionary.Number(values, limit)) {
      const std::vector<uint32_t>& entries = dictionary.entries();
      const int width = BytesFor(entries.size() - 1);
      if (entries.size() * 4 + values.size() * width < values.size() * 4 || width == 0) {
        Begin(ArrayEncoding::kFloatDictionary, width, values.size(), entries.size());
        bytes_.append(reinterpret_cast<const char*>(entries.data()), entries.size() * 4);
        return AppendNumbers(std::span(dictionary.numbers()), uint16_t{0}, width);
      }
    }
    Begin(ArrayEncoding::kFloats, 4, values.size(), 0);
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  }

  std::string Finish() {
    Pad();
    return std::move(bytes_);
  }

 private:
  void Pad() { bytes_.resize((bytes_.size() + 7) / 8 * 8); }

  void Begin(ArrayEncoding encoding, int width, size_t count, uint64_t base) {
    Pad();
    const BlockArray array = {.encoding = static_cast<uint8_t>(encoding),
                              .width = static_cast<uint8_t>(width),
                              .zero = 0,
                              .count = static_cast<uint32_t>(count),
                              .base = base,
                              .offset = bytes_.size()};
    std::memcpy(bytes_.data() + sizeof(BlockHeader) + next_++ * sizeof(array), &array,
                sizeof(array));
  }

  template <typename Number>
  void AppendNumbers(std::span<const Number> values, Number base, int width) {
    const size_t begin = bytes_.size(), end = begin + values.size() * static_cast<size_t>(width);
    bytes_.resize(end + sizeof(uint64_t));  // Each store writes 8 bytes; the next one overwrites.
    char* at = bytes_.data() + begin;
    for (const Number value : values) {
      const uint64_t difference = static_cast<uint64_t>(value) - base;
      std::memcpy(at, &difference, sizeof(difference));
      at += width;
    }
    bytes_.resize(end);
  }

  std::string bytes_;
  size_t next_ = 0;
};

void CheckShape(const DataColumns& columns, const Batch& batch) {
  CHECK(batch.samples >= 1 && batch.samples <= kMaxBlockSamples) << batch.samples;
  CHECK_EQ(batch.dense_features, columns.dense.size());
  CHECK_EQ(batch.dense.size(), batch.samples * columns.dense.size());
  CHECK_EQ(batch.labels.size(), batch.samples);
  CHECK_EQ(batch.features.size(), columns.categorical.size());
  CHECK_EQ(columns.rows.size(), columns.categorical.size());
  CHECK(batch.weights.empty() || (columns.has_weights && batch.weights.size() == batch.samples));
  for (const Bags& bags : batch.features) {
    CHECK_EQ(bags.samples(), batch.samples);
    CHECK(bags.weights.empty() || bags.weights.size() == bags.ids.size());
  }
}

Status CheckLabels(const Batch& batch) {
  for (size_t s = 0; s < batch.samples; ++s) {
    if (batch.labels[s] >= 0.0f && batch.labels[s] <= 1.0f) continue;
    return UsageError("sample {}: the label is {}, expected 0 to 1", s, batch.labels[s]);
  }
  for (size_t s = 0; s < batch.weights.size(); ++s) {
    if (batch.weights[s] >= 0.0f && std::isfinite(batch.weights[s])) continue;
    return UsageError("sample {}: the weight is {}, expected a finite number from 0", s,
                      batch.weights[s]);
  }
  return OkStatus();
}

Status CheckDense(const DataColumns& columns, const Batch& batch) {
  for (size_t i = 0; i < batch.dense.size(); ++i) {
    if (std::isfinite(batch.dense[i])) continue;
    return UsageError("sample {}: column \"{}\" is {}, expected a finite number",
                      i / columns.dense.size(), columns.dense[i % columns.dense.size()],
                      batch.dense[i]);
  }
  return OkStatus();
}

size_t SampleOf(const Bags& bags, size_t lookup) {
  return static_cast<size_t>(std::ranges::upper_bound(bags.offsets, lookup) -
                             bags.offsets.begin()) -
         1;
}

Status CheckBags(const std::string& name, uint64_t rows, const Bags& bags) {
  if (bags.ids.size() > kMaxBlockIds) {
    return UsageError("column \"{}\" has {} ids in a block and may have {}: fewer samples a block",
                      name, bags.ids.size(), kMaxBlockIds);
  }
  for (size_t i = 0; i < bags.ids.size(); ++i) {
    if (bags.ids[i] < rows) continue;
    return UsageError("sample {}: column \"{}\" has id {}, and the column has {} rows",
                      SampleOf(bags, i), name, bags.ids[i], rows);
  }
  for (size_t i = 0; i < bags.weights.size(); ++i) {
    if (std::isfinite(bags.weights[i])) continue;
    return UsageError("sample {}: column \"{}\" has a weight of {}, expected a finite number",
                      SampleOf(bags, i), name, bags.weights[i]);
  }
  return OkStatus();
}

Status Check(const DataColumns& columns, const Batch& batch) {
  CheckShape(columns, batch);
  RETURN_IF_ERROR(CheckLabels(batch));
  RETURN_IF_ERROR(CheckDense(columns, batch));
  for (size_t k = 0; k < columns.categorical.size(); ++k) {
    RETURN_IF_ERROR(CheckBags(columns.categorical[k], columns.rows[k], batch.features[k]));
  }
  return OkStatus();
}

}  // namespace

Result<EncodedBlock> EncodeBlock(const DataColumns& columns, const Batch& batch) {
  RETURN_IF_ERROR(Check(columns, batch));
  BlockBuilder builder(batch.samples, ArrayNumbers(columns).count);
  builder.AddFloats(batch.labels);
  std::vector<float> values(batch.samples, 1.0f);
  if (columns.has_weights) builder.AddFloats(batch.weights.empty() ? values : batch.weights);
  for (size_t k = 0; k < columns.dense.size(); ++k) {
    for (size_t s = 0; s < batch.samples; ++s) {
      values[s] = batch.dense[s * columns.dense.size() + k];
    }
    builder.AddFloats(values);
  }
  for (const Bags& bags : batch.features) {
    builder.AddOffsets(bags.offsets);
    builder.AddIntegers(std::span(bags.ids));
    builder.AddFloats(bags.weights);
  }
  return EncodedBlock{.samples = batch.samples, .bytes = builder.Finish()};
}

}  // namespace rowhouse
