#include "sharding/rows/record_weights.h"

#include <glog/logging.h>
#include <xxhash.h>

#include <array>
#include <string>
#include <vector>

#include "common/kernels/finite.h"
#include "common/kernels/row_updates.h"
#include "common/random.h"

namespace rowhouse {
namespace {

constexpr uint64_t kRoundingStream = 0x726f756e64696e67;  // "rounding"

std::span<const uint16_t> Halves(const RecordLayout& layout, const std::byte* record) {
  return {reinterpret_cast<const uint16_t*>(record), layout.dim};
}

// What fills the weights up to 4 bytes is always 0: records are compared and compressed as bytes.
std::span<uint16_t> HalvesToWrite(const RecordLayout& layout, std::byte* record) {
  auto* halves = reinterpret_cast<uint16_t*>(record);
  if (layout.dim % 2 != 0) halves[layout.dim] = 0;
  return {halves, layout.dim};
}

void WriteFloats(const RecordLayout& layout, std::span<const float> weights, std::byte* record) {
  std::memcpy(record, weights.data(), size_t{layout.dim} * sizeof(float));
}

}  // namespace

RecordLayout LayoutOf(const TableSpec& table, const Optimizer& optimizer) {
  return LayoutOf(table, optimizer, table.dim);
}

RecordLayout LayoutOf(const TableSpec& table, const Optimizer& optimizer, uint32_t columns) {
  return {.dim = columns,
          .state_floats = static_cast<uint32_t>(optimizer.state_floats(columns)),
          .precision = FindPrecision(table.precision).value()};
}

std::optional<RecordLayout> LayoutOfRecord(const TableSpec& table, const Optimizer& optimizer,
                                           uint32_t first_column, size_t bytes) {
  if (first_column >= table.dim || first_column % kColumnsPerCut != 0) return std::nullopt;
  const RecordLayout rest = LayoutOf(table, optimizer, table.dim - first_column);
  if (rest.bytes() == bytes) return rest;
  for (uint32_t columns = kColumnsPerCut; columns < rest.dim; columns += kColumnsPerCut) {
    const RecordLayout cut = LayoutOf(table, optimizer, columns);
    if (cut.bytes() == bytes) return cut;
  }
  return std::nullopt;
}

void WidenWeights(const RecordLayout& layout, const std::byte* record, std::span<float> weights) {
  switch (layout.precision) {
    case Precision::kF32:
      return ReadWeights(layout, record, weights);
    case Precision::kBf16:
      return WidenBf16(Halves(layout, record), weights);
    case Precision::kF16:
      return WidenF16(Halves(layout, record), weights);
  }
}

void PackNumbers(Precision precision, std::span<const float> values, std::byte* numbers) {
  if (precision == Precision::kF32) {
    std::memcpy(numbers, values.data(), values.size_bytes());
  } else {
    RoundToNearestBf16(values, {reinterpret_cast<uint16_t*>(numbers), values.size()});
  }
}

void UnpackNumbers(Precision precision, const std::byte* numbers, std::span<float> values) {
  if (precision == Precision::kF32) {
    std::memcpy(values.data(), numbers, values.size_bytes());
  } else {
    WidenBf16({reinterpret_cast<const uint16_t*>(numbers), values.size()}, values);
  }
}

void AddNumbers(Precision precision, const std::byte* numbers, std::span<float> sums) {
  if (precision == Precision::kF32) {
    AddRow({reinterpret_cast<const float*>(numbers), sums.size()}, sums);
  } else {
    AddBf16({reinterpret_cast<const uint16_t*>(numbers), sums.size()}, sums);
  }
}

void ConvertWeights(Precision precision, const RecordLayout& layout, const std::byte* record,
                    std::byte* numbers) {
  if (layout.precision == Precision::kF32) {
    PackNumbers(precision, layout.weights(record), numbers);
  } else if (precision == Precision::kF32) {
    WidenWeights(layout, record, {reinterpret_cast<float*>(numbers), layout.dim});
  } else {  // f16 to bf16
    std::array<float, TableSpec::kMaxDim> weights;
    WidenWeights(layout, record, std::span(weights).first(layout.dim));
    PackNumbers(precision, std::span(weights).first(layout.dim), numbers);
  }
}

void WriteInitialWeights(const RecordLayout& layout, std::span<const float> weights,
                         std::byte* record) {
  CHECK_EQ(weights.size(), layout.dim);
  switch (layout.precision) {
    case Precision::kF32:
      return WriteFloats(layout, weights, record);
    case Precision::kBf16:
      return RoundToNearestBf16(weights, HalvesToWrite(layout, record));
    case Precision::kF16:
      return RoundToNearestF16(weights, HalvesToWrite(layout, record));
  }
}

void WriteUpdatedWeights(const RecordLayout& layout, const RoundingDraws& draws,
                         std::span<const float> weights, std::byte* record) {
  CHECK_EQ(weights.size(), layout.dim);
  switch (layout.precision) {
    case Precision::kF32:
      return WriteFloats(layout, weights, record);
    case Precision::kBf16:
      return RoundToBf16(draws, weights, HalvesToWrite(layout, record));
    case Precision::kF16:
      return RoundToF16(draws, weights, HalvesToWrite(layout, record));
  }
}

RoundingDraws RoundingOf(const TableSpec& table, const RecordPlace& place, uint64_t step) {
  const uint64_t name =
      XXH3_64bits_withSeed(table.name.data(), table.name.size(), table.initialiser_options.seed);
  const uint64_t table_key = MixKey(name, kRoundingStream);
  return {.key = MixKey(MixKey(table_key, Raw(place.row)), step), .first = place.first_column};
}

bool IsFiniteRecord(const RecordLayout& layout, const std::byte* record) {
  if (!AreFinite(layout.state(record))) return false;
  if (layout.precision == Precision::kF32) return AreFinite(layout.weights(record));
  float scratch[TableSpec::kMaxDim];
  const std::span<float> weights(scratch, layout.dim);
  ReadWeights(layout, record, weights);
  return AreFinite(weights);
}

Status NotFiniteError(const TableSpec& table, const RecordLayout& layout, const RecordPlace& place,
                      const std::byte* record) {
  std::vector<float> weights(layout.dim);
  ReadWeights(layout, record, weights);
  std::string what;
  if (const auto bad = FirstNotFinite(weights)) {
    what = fmt::format("column {} is {}", place.first_column + *bad, ForPeople(weights[*bad]));
  } else {
    const std::span<const float> state = layout.state(record);
    const auto of_state = FirstNotFinite(state);
    CHECK(of_state) << "the record is finite";
    what = fmt::format("its optimizer state holds {}", ForPeople(state[*of_state]));
  }
  // An LSN is the number of steps applied.
  return MakeStatus(StatusCode::kInternal,
                    "table \"{}\", row {}: {} after step {}: lower learning_rate", table.name,
                    Raw(place.row), what, layout.trailer(record).lsn - 1);
}

}  // namespace rowhouse
