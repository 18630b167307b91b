#include <cmath>
#include <limits>
#include <vector>

#include "sharding/rows/optimizer.h"
#include "sharding/rows/record_weights.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

TEST(RecordFinite, AWeightOrStateThatIsNoNumberIsFoundInAnyPrecision) {
  constexpr uint32_t kDim = 67;  // no whole number of vectors
  for (const std::string& precision : PrecisionNames()) {
    TableSpec table;
    table.name = "t";
    table.rows = 10;
    table.dim = kDim;
    table.optimizer = "adagrad";
    table.precision = precision;
    const auto optimizer = Optimizers().Make(table.optimizer, {}).value();
    const RecordLayout layout = LayoutOf(table, *optimizer);
    const RecordPlace place{.row = RowId{7}, .first_column = 0};
    std::vector<std::byte> record(layout.bytes(), std::byte{0xff});
    const auto fill = [&](const std::vector<float>& weights) {
      WriteInitialWeights(layout, weights, record.data());
      optimizer->InitState(layout.state(record.data()));
      layout.set_trailer(record.data(), {.lsn = 13, .last_step = 12, .frequency = 0xffffffff});
    };
    std::vector<float> weights(kDim, -1.5f);
    fill(weights);
    EXPECT_TRUE(IsFiniteRecord(layout, record.data())) << precision;

    weights[kDim - 1] = -std::nanf("");
    fill(weights);
    EXPECT_FALSE(IsFiniteRecord(layout, record.data())) << precision;
    const Status of_weight = NotFiniteError(table, layout, place, record.data());
    EXPECT_EQ(of_weight.code(), StatusCode::kInternal);
    EXPECT_EQ(of_weight.message(),
              "table \"t\", row 7: column 66 is nan after step 12: lower learning_rate");

    weights[kDim - 1] = 0.0f;
    fill(weights);
    layout.state(record.data())[kDim - 1] = std::numeric_limits<float>::infinity();
    EXPECT_FALSE(IsFiniteRecord(layout, record.data())) << precision;
    EXPECT_THAT(NotFiniteError(table, layout, place, record.data()).message(),
                HasSubstr("row 7: its optimizer state holds inf after step 12"));
  }
}

}  // namespace
}  // namespace rowhouse
