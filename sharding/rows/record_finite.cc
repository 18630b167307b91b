#include "sharding/rows/record_finite.h"

#include <string>
#include <vector>

#include "common/kernels/finite.h"

namespace rowhouse {

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
