#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "worker/data/blocks/block.h"

namespace rowhouse {
namespace {

// An unsigned number of Width bytes. Reads no byte behind it.
template <int Width>
uint64_t LoadNumber(const std::byte* at) {
  if constexpr (Width == 0) {
    return 0;
  } else if constexpr (Width == 3) {
    return LoadNumber<2>(at) | LoadNumber<1>(at + 2) << 16;
  } else if constexpr (Width == 5 || Width == 6 || Width == 7) {
    return LoadNumber<4>(at) | LoadNumber<Width - 4>(at + 4) << 32;
  } else {
    uint64_t value = 0;
    std::memcpy(&value, at, Width);
    return value;
  }
}

// Calls `function` with an integral_constant of `width`. Requires width in 0 .. 8.
template <typename Function>
void WithWidth(uint8_t width, Function function) {
  [&]<int... kWidths>(std::integer_sequence<int, kWidths...>) {
    ((kWidths == width ? function(std::integral_constant<int, kWidths>()) : void()), ...);
  }
  (std::make_integer_sequence<int, 9>());
}

BlockArray ArrayAt(std::span<const std::byte> block, size_t number) {
  BlockArray array;
  std::memcpy(&array, block.data() + sizeof(BlockHeader) + number * sizeof(array), sizeof(array));
  return array;
}

// One array of a block whose bounds have been checked.
class ArrayView {
 public:
  ArrayView(std::span<const std::byte> block, size_t number)
      : array_(ArrayAt(block, number)), data_(block.data() + array_.offset) {}

  uint32_t count() const { return array_.count; }
  uint64_t base() const { return array_.base; }
  bool has(ArrayEncoding encoding) const {
    return array_.encoding == static_cast<uint8_t>(encoding);
  }

  // Calls use(read), where read(i) is integer i.
  template <typename Use>
  void ReadIntegers(Use use) const {
    const uint64_t base = array_.base;
    if (has(ArrayEncoding::kMultiples)) {
      return use([base](size_t i) { return base * i; });
    }
    const std::byte* data = data_;
    WithWidth(array_.width, [&](auto width) {
      constexpr int kWidth = decltype(width)::value;
      use([base, data](size_t i) { return base + LoadNumber<kWidth>(data + i * kWidth); });
    });
  }

  // Calls use(read), where read(i) is float i.
  template <typename Use>
  void ReadFloats(Use use) const {
    const std::byte* entries = data_;
    if (!has(ArrayEncoding::kFloatDictionary)) {
      return use([entries](size_t i) { return LoadFloat(entries + 4 * i); });
    }
    const std::byte* numbers = data_ + 4 * array_.base;
    if (array_.width == 0) return use([entries](size_t) { return LoadFloat(entries); });
    if (array_.width == 1) {
      return use([entries, numbers](size_t i) {
        return LoadFloat(entries + 4 * LoadNumber<1>(numbers + i));
      });
    }
    use([entries, numbers](size_t i) {
      return LoadFloat(entries + 4 * LoadNumber<2>(numbers + 2 * i));
    });
  }

 private:
  static float LoadFloat(const std::byte* at) {
    float value;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }

  const BlockArray array_;
  const std::byte* const data_;
};

// ---- Checks ---------------------------------------------------------------------------------

constexpr float kMax = std::numeric_limits<float>::max();

// What an array may be.
enum class Kind { kInteger, kFloat };

Status CheckEncoding(const BlockArray& array, Kind kind) {
  const auto encoding = static_cast<ArrayEncoding>(array.encoding);
  bool fits = false;
  if (kind == Kind::kFloat) {
    fits = (encoding == ArrayEncoding::kFloats && array.width == 4) ||
           (encoding == ArrayEncoding::kFloatDictionary && array.width <= 2 && array.base >= 1 &&
            array.base <= 65536);
  } else {
    fits = (encoding == ArrayEncoding::kIntegers && array.width <= 8) ||
           (encoding == ArrayEncoding::kMultiples && array.width == 0);
  }
  if (fits && array.zero == 0) return OkStatus();
  return UsageError("encoding {}, width {}, base {} is no way to store {}", array.encoding,
                    array.width, array.base, kind == Kind::kFloat ? "floats" : "integers");
}

Status CheckArray(std::span<const std::byte> block, size_t number, Kind kind, uint64_t count) {
  const BlockArray array = ArrayAt(block, number);
  RETURN_IF_ERROR(CheckEncoding(array, kind));
  if (array.count != count) {
    return UsageError("it has {} values, expected {}", array.count, count);
  }
  uint64_t bytes = uint64_t{array.width} * array.count;
  if (array.encoding == static_cast<uint8_t>(ArrayEncoding::kFloatDictionary)) {
    bytes += 4 * array.base;
  }
  if (array.offset % 8 != 0 || array.offset > block.size() || bytes > block.size() - array.offset) {
    return UsageError("its {} bytes at {} are not within the block's {}", bytes, array.offset,
                      block.size());
  }
  return OkStatus();
}

// An array of floats that all lie in [least, most].
Status CheckFloats(std::span<const std::byte> block, size_t number, uint64_t count, float least,
                   float most) {
  RETURN_IF_ERROR(CheckArray(block, number, Kind::kFloat, count));
  const ArrayView array(block, number);
  if (array.has(ArrayEncoding::kFloatDictionary)) {
    // Entries that no value uses may be anything; numbers beyond the entries are not read.
    const BlockArray facts = ArrayAt(block, number);
    const std::byte* numbers = block.data() + facts.offset + 4 * facts.base;
    uint64_t largest = 0;
    for (uint32_t i = 0; i < facts.count && facts.width > 0; ++i) {
      largest = std::max(largest, facts.width == 1 ? LoadNumber<1>(numbers + i)
                                                   : LoadNumber<2>(numbers + 2 * size_t{i}));
    }
    if (largest >= facts.base) {
      return UsageError("it uses float {} of a dictionary of {}", largest, facts.base);
    }
  }
  Status status;
  array.ReadFloats([&](auto read) {
    for (size_t i = 0; i < count && status.ok(); ++i) {
      const float value = read(i);
      if (value >= least && value <= most) continue;
      status = UsageError("value {} is {}, expected {} to {}", i, value, least, most);
    }
  });
  return status;
}

Status CheckOffsets(std::span<const std::byte> block, size_t number, uint64_t samples,
                    uint64_t* ids) {
  RETURN_IF_ERROR(CheckArray(block, number, Kind::kInteger, samples + 1));
  Status status;
  ArrayView(block, number).ReadIntegers([&](auto read) {
    uint64_t last = read(0);
    if (last != 0) status = UsageError("offset 0 is {}, expected 0", last);
    for (size_t i = 1; i <= samples && status.ok(); ++i) {
      const uint64_t offset = read(i);
      if (offset < last || offset > kMaxBlockIds) {
        status = UsageError("offset {} is {}, after {} (2^26 is the most)", i, offset, last);
      }
      last = offset;
    }
    *ids = last;
  });
  return status;
}

Status CheckIds(std::span<const std::byte> block, size_t number, uint64_t count, uint64_t rows) {
  RETURN_IF_ERROR(CheckArray(block, number, Kind::kInteger, count));
  uint64_t largest = 0;
  ArrayView(block, number).ReadIntegers([&](auto read) {
    for (size_t i = 0; i < count; ++i) largest = std::max<uint64_t>(largest, read(i));
  });
  if (count == 0 || largest < rows) return OkStatus();
  return UsageError("id {} is not below the column's {} rows", largest, rows);
}

Status CheckColumn(const DataColumns& columns, size_t column, uint64_t samples,
                   std::span<const std::byte> bytes) {
  const ArrayNumbers numbers(columns);
  uint64_t ids = 0;
  RETURN_IF_ERROR(CheckOffsets(bytes, numbers.OffsetsOf(column), samples, &ids));
  RETURN_IF_ERROR(CheckIds(bytes, numbers.IdsOf(column), ids, columns.rows[column]));
  const size_t weights = numbers.IdWeightsOf(column);
  return CheckFloats(bytes, weights, ArrayAt(bytes, weights).count == 0 ? 0 : ids, -kMax, kMax)
      .Annotate("weights");
}

Status CheckHeader(const DataColumns& columns, uint64_t samples, std::span<const std::byte> bytes) {
  const size_t arrays = ArrayNumbers(columns).count;
  BlockHeader header;
  if (bytes.size() < sizeof(header) + arrays * sizeof(BlockArray)) {
    return UsageError("{} bytes are too few for the {} arrays of its columns", bytes.size(),
                      arrays);
  }
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (std::memcmp(header.magic, kBlockMagic, sizeof(kBlockMagic)) != 0) {
    return UsageError("it does not begin as a block does");
  }
  if (header.samples != samples || samples == 0 || samples > kMaxBlockSamples) {
    return UsageError("it has {} samples, and data.json says {} (1 to {} are allowed)",
                      header.samples, samples, kMaxBlockSamples);
  }
  if (header.arrays == arrays) return OkStatus();
  return UsageError("it has {} arrays, expected {} for the columns of data.json", header.arrays,
                    arrays);
}

}  // namespace

Status CheckBlock(const DataColumns& columns, uint64_t samples, std::span<const std::byte> bytes) {
  RETURN_IF_ERROR(CheckHeader(columns, samples, bytes));
  const ArrayNumbers numbers(columns);
  RETURN_IF_ERROR(
      CheckFloats(bytes, ArrayNumbers::kLabels, samples, 0.0f, 1.0f).Annotate("labels"));
  if (columns.has_weights) {
    RETURN_IF_ERROR(CheckFloats(bytes, ArrayNumbers::kWeights, samples, 0.0f, kMax)
                        .Annotate("weights of samples"));
  }
  for (size_t k = 0; k < columns.dense.size(); ++k) {
    RETURN_IF_ERROR(CheckFloats(bytes, numbers.first_dense + k, samples, -kMax, kMax)
                        .Annotate(fmt::format("column \"{}\"", columns.dense[k])));
  }
  for (size_t k = 0; k < columns.categorical.size(); ++k) {
    RETURN_IF_ERROR(CheckColumn(columns, k, samples, bytes)
                        .Annotate(fmt::format("column \"{}\"", columns.categorical[k])));
  }
  return OkStatus();
}

// ---- Reading --------------------------------------------------------------------------------

namespace {

void AppendFloats(const ArrayView& array, std::span<const uint32_t> samples,
                  std::vector<float>* out) {
  const size_t before = out->size();
  out->resize(before + samples.size());
  float* to = out->data() + before;
  array.ReadFloats([&](auto read) {
    for (size_t i = 0; i < samples.size(); ++i) to[i] = read(samples[i]);
  });
}

// One id a sample, the commonest bags.
void AppendSingleIds(const ArrayView& ids, std::span<const uint32_t> samples, Bags* bags) {
  const size_t before = bags->ids.size(), bags_before = bags->offsets.size();
  bags->ids.resize(before + samples.size());
  bags->offsets.resize(bags_before + samples.size());
  uint64_t* to = bags->ids.data() + before;
  uint32_t* offsets = bags->offsets.data() + bags_before;
  ids.ReadIntegers([&](auto read) {
    for (size_t i = 0; i < samples.size(); ++i) {
      to[i] = read(samples[i]);
      offsets[i] = static_cast<uint32_t>(before + i + 1);
    }
  });
}

// Weights of the ids that AppendBags adds. Where only some blocks have them, those of the others
// are 1.
void AppendIdWeights(const ArrayView& weights, uint64_t begin, uint64_t end, Bags* bags) {
  weights.ReadFloats([&](auto read) {
    for (uint64_t i = begin; i < end; ++i) bags->weights.push_back(read(i));
  });
}

}  // namespace

void BlockView::AppendLabels(std::span<const uint32_t> samples, std::vector<float>* out) const {
  AppendFloats(ArrayView(bytes_, ArrayNumbers::kLabels), samples, out);
}

void BlockView::AppendWeights(std::span<const uint32_t> samples, std::vector<float>* out) const {
  AppendFloats(ArrayView(bytes_, ArrayNumbers::kWeights), samples, out);
}

void BlockView::CopyDense(size_t column, std::span<const uint32_t> samples, size_t stride,
                          float* out) const {
  ArrayView(bytes_, numbers_->first_dense + column).ReadFloats([&](auto read) {
    for (size_t i = 0; i < samples.size(); ++i) out[i * stride] = read(samples[i]);
  });
}

void BlockView::AppendBags(size_t column, std::span<const uint32_t> samples, Bags* bags) const {
  const ArrayView offsets(bytes_, numbers_->OffsetsOf(column));
  const ArrayView ids(bytes_, numbers_->IdsOf(column));
  const ArrayView weights(bytes_, numbers_->IdWeightsOf(column));
  const bool has_weights = weights.count() > 0;
  if (has_weights) bags->weights.resize(bags->ids.size(), 1.0f);
  if (!has_weights && bags->weights.empty() && offsets.base() == 1 &&
      offsets.has(ArrayEncoding::kMultiples)) {
    return AppendSingleIds(ids, samples, bags);
  }
  std::vector<std::pair<uint64_t, uint64_t>> places(samples.size());  // in ids
  offsets.ReadIntegers([&](auto read) {
    for (size_t i = 0; i < samples.size(); ++i) {
      // The bound matters only where the file became shorter in the meantime.
      const uint64_t end = std::min<uint64_t>(read(size_t{samples[i]} + 1), ids.count());
      places[i] = {read(samples[i]), end};
    }
  });
  ids.ReadIntegers([&](auto read) {
    for (const auto& [begin, end] : places) {
      for (uint64_t i = begin; i < end; ++i) bags->ids.push_back(read(i));
      if (has_weights) AppendIdWeights(weights, begin, end, bags);
      bags->EndBag();
    }
  });
  if (!bags->weights.empty()) bags->weights.resize(bags->ids.size(), 1.0f);
}

}  // namespace rowhouse
