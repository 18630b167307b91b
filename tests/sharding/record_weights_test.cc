// Weights of 16 bits in a record: where the bytes lie, how an update rounds them, and that nothing
// but seed, table, row, column and step decides it.
#include "sharding/rows/record_weights.h"

#include <xxhash.h>

#include <algorithm>
#include <set>

#include "common/random.h"
#include "sharding/rows/record_update.h"
#include "sharding/rows/rows_digest.h"
#include "sharding/tables/embedding_tables.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TableSpec RecordWeightsTable(const std::string& precision, uint32_t dim = 3) {
  TableSpec table;
  table.name = "user";
  table.rows = 100;
  table.dim = dim;
  table.precision = precision;
  return table;
}

struct RecordWeightsRow {
  TableSpec table;
  std::unique_ptr<Optimizer> optimizer;
  RecordLayout layout;
  std::vector<std::byte> record;
  RecordPlace place{.row = RowId{7}};

  explicit RecordWeightsRow(const TableSpec& spec)
      : table(spec),
        optimizer(Optimizers().Make(spec.optimizer, spec.optimizer_options).value()),
        layout(LayoutOf(spec, *optimizer)),
        record(layout.bytes(), std::byte{0xee}) {
    optimizer->InitState(layout.state(record.data()));
    layout.set_trailer(record.data(), {});
  }

  void First(const std::vector<float>& weights) {
    WriteInitialWeights(layout, weights, record.data());
  }
  void Update(uint64_t step, const std::vector<float>& gradient, float rate = 1.0f) {
    UpdateRecord(table, *optimizer, layout, place, step, rate, gradient, record.data());
  }
  std::vector<float> Weights() const {
    std::vector<float> weights(layout.dim);
    ReadWeights(layout, record.data(), weights);
    return weights;
  }
};

// Weights 1.0, -2.0, 1/3; state 0.5; LSN, last step, frequency. Once written, these never change.
TEST(RecordWeights, GoldenBytes) {
  const auto expect_bytes = [](Precision precision, const std::vector<uint8_t>& expected) {
    const RecordLayout layout{.dim = 3, .state_floats = 1, .precision = precision};
    ASSERT_EQ(layout.bytes(), expected.size());
    std::vector<std::byte> record(layout.bytes(), std::byte{0xee});
    WriteInitialWeights(layout, std::vector{1.0f, -2.0f, 1.0f / 3.0f}, record.data());
    layout.state(record.data())[0] = 0.5f;
    layout.set_trailer(record.data(), {.lsn = 8, .last_step = 7, .frequency = 6});
    EXPECT_EQ(std::memcmp(record.data(), expected.data(), expected.size()), 0);
  };
  expect_bytes(Precision::kF32, {0x00, 0x00, 0x80, 0x3f, 0x00, 0x00, 0x00, 0xc0, 0xab, 0xaa, 0xaa,
                                 0x3e, 0x00, 0x00, 0x00, 0x3f, 8,    0,    0,    0,    0,    0,
                                 0,    0,    7,    0,    0,    0,    6,    0,    0,    0});
  expect_bytes(Precision::kBf16,
               {0x80, 0x3f, 0x00, 0xc0, 0xab, 0x3e, 0x00, 0x00, 0x00, 0x00, 0x00, 0x3f, 8, 0,
                0,    0,    0,    0,    0,    0,    7,    0,    0,    0,    6,    0,    0, 0});
  expect_bytes(Precision::kF16,
               {0x00, 0x3c, 0x00, 0xc0, 0x55, 0x35, 0x00, 0x00, 0x00, 0x00, 0x00, 0x3f, 8, 0,
                0,    0,    0,    0,    0,    0,    7,    0,    0,    0,    6,    0,    0, 0});
}

TEST(RecordWeights, TakeHalfTheBytesFilledUpToFour) {
  for (const uint32_t dim : {1u, 2u, 3u, 64u, 4096u}) {
    const RecordLayout f32{.dim = dim}, bf16{.dim = dim, .precision = Precision::kBf16};
    EXPECT_EQ(f32.weight_bytes(), dim * 4);
    EXPECT_EQ(bf16.weight_bytes(), (dim + 1) / 2 * 4);
    EXPECT_EQ(bf16.bytes(), bf16.weight_bytes() + 16);
  }
}

// Whatever they are stored in, a record's weights are packed as their f32 values would be.
TEST(RecordWeights, PackedTheyAreThoseOfF32Rounded) {
  for (const std::string& stored : PrecisionNames()) {
    RecordWeightsRow row(RecordWeightsTable(stored, 37));
    std::vector<float> first;
    for (int c = 0; c < 37; ++c) first.push_back(0.0131f * static_cast<float>(c) - 0.2f);
    row.First(first);
    for (const Precision precision : {Precision::kF32, Precision::kBf16}) {
      SCOPED_TRACE(fmt::format("{} as {}", stored, PrecisionNames()[static_cast<int>(precision)]));
      std::vector<float> expected = row.Weights(), unpacked(37), added(37, 1.0f);
      RoundNumbers(precision, expected);
      EXPECT_EQ(expected != row.Weights(), stored != "bf16" && precision == Precision::kBf16);
      std::vector<std::byte> numbers(37 * BytesOfWeight(precision)), of_values(numbers.size());
      PackWeights(precision, row.layout, row.record.data(), numbers.data());
      PackNumbers(precision, row.Weights(), of_values.data());
      EXPECT_EQ(numbers, of_values);
      UnpackNumbers(precision, numbers.data(), unpacked);
      EXPECT_EQ(unpacked, expected);
      AddNumbers(precision, numbers.data(), added);
      for (size_t c = 0; c < added.size(); ++c) EXPECT_EQ(added[c], 1.0f + expected[c]);
    }
  }
}

TEST(RecordWeights, TheDrawsOfAnUpdateAreWhatTheHeaderSays) {
  TableSpec table = RecordWeightsTable("bf16");
  table.initialiser_options.seed = 9;
  const RoundingDraws draws = RoundingOf(table, {.row = RowId{5}, .first_column = 16}, 40);
  const uint64_t table_key = MixKey(XXH3_64bits_withSeed("user", 4, 9), 0x726f756e64696e67);
  EXPECT_EQ(draws.key, MixKey(MixKey(table_key, 5), 40));
  EXPECT_EQ(draws.first, 16u);

  std::set<uint64_t> keys = {draws.key};
  keys.insert(RoundingOf(table, {.row = RowId{6}}, 40).key);
  keys.insert(RoundingOf(table, {.row = RowId{5}}, 41).key);
  keys.insert(RoundingOf(table, {.row = RowId{40}}, 5).key);
  table.name = "item";
  keys.insert(RoundingOf(table, {.row = RowId{5}}, 40).key);
  table.initialiser_options.seed = 10;
  keys.insert(RoundingOf(table, {.row = RowId{5}}, 40).key);
  EXPECT_EQ(keys.size(), 6u);
}

// Widened, shortened and updated as f32 rows are, then rounded by the draws of row and step.
TEST(RecordWeights, AnUpdateIsThatOfF32ThenRounded) {
  for (const std::string precision : {"bf16", "f16"}) {
    for (const std::string& optimizer : Optimizers().Names()) {
      TableSpec table = RecordWeightsTable(precision, 37);
      table.optimizer = optimizer;
      table.max_norm = 0.9;
      RecordWeightsRow row(table);
      table.precision = "f32";
      RecordWeightsRow wide(table);
      std::vector<float> first, gradient;
      for (int c = 0; c < 37; ++c) {
        first.push_back(0.013f * static_cast<float>(c) - 0.2f);
        gradient.push_back(0.0071f * static_cast<float>(c % 7) - 0.02f);
      }
      row.First(first);
      for (const uint64_t step : {0u, 1u, 5u}) {
        SCOPED_TRACE(fmt::format("{} {} step {}", precision, optimizer, step));
        wide.First(row.Weights());
        row.Update(step, gradient, 0.1f);
        wide.Update(step, gradient, 0.1f);
        std::vector<uint16_t> halves(37);
        const RoundingDraws draws = RoundingOf(table, row.place, step);
        (precision == "bf16" ? RoundToBf16 : RoundToF16)(draws, wide.Weights(), halves);
        EXPECT_EQ(std::memcmp(row.record.data(), halves.data(), 37 * 2), 0);
        const auto state = row.layout.state(row.record.data());
        const auto wide_state = wide.layout.state(wide.record.data());
        EXPECT_TRUE(std::equal(state.begin(), state.end(), wide_state.begin(), wide_state.end()));
        EXPECT_EQ(row.layout.trailer(row.record.data()).lsn, step + 1);
      }
    }
  }
}

TEST(RecordWeights, ColumnCutsRoundToTheBitsOfTheWholeRow) {
  RecordWeightsRow whole(RecordWeightsTable("bf16", 24));
  std::vector<float> first(24), gradient(24);
  for (int c = 0; c < 24; ++c) {
    first[c] = 0.1f * static_cast<float>(c);
    gradient[c] = 0.0003f * static_cast<float>(c + 1);
  }
  whole.First(first);
  whole.Update(3, gradient);
  std::vector<float> cut;
  for (const auto& [begin, end] : {std::pair<int, int>{0, 16}, {16, 24}}) {
    TableSpec table = RecordWeightsTable("bf16", 24);
    table.dim = static_cast<uint32_t>(end - begin);
    RecordWeightsRow part(table);
    part.place.first_column = static_cast<uint32_t>(begin);
    part.First({first.begin() + begin, first.begin() + end});
    part.Update(3, {gradient.begin() + begin, gradient.begin() + end});
    const std::vector<float> weights = part.Weights();
    cut.insert(cut.end(), weights.begin(), weights.end());
  }
  EXPECT_EQ(cut, whole.Weights());
}

// Updates of a fiftieth of bf16's step: to nearest, none of them would ever move the weight.
TEST(RecordWeights, SmallUpdatesAddUp) {
  for (const std::string precision : {"bf16", "f16"}) {
    RecordWeightsRow row(RecordWeightsTable(precision, 256));
    row.First(std::vector<float>(256, 1.0f));
    for (uint64_t step = 0; step < 1000; ++step) row.Update(step, std::vector<float>(256, -1e-4f));
    double sum = 0.0;
    for (const float weight : row.Weights()) sum += double{weight};
    EXPECT_NEAR(sum / 256, 1.1, 0.01) << precision;  // 5 standard errors
  }
}

TEST(RecordWeights, TheDigestCountsTheF32ThatAWeightIs) {
  RecordWeightsRow row(RecordWeightsTable("bf16"));
  row.First({1.0f / 3.0f, -0.7f, 5.0f});
  RecordWeightsRow wide(RecordWeightsTable("f32"));
  wide.First(row.Weights());
  const DigestedTable digested("user", {});
  RowsDigest a, b;
  a.Add(digested, RowId{7}, 0, row.layout, row.record.data());
  b.Add(digested, RowId{7}, 0, wide.layout, wide.record.data());
  EXPECT_EQ(a, b);
  EXPECT_NE(a, RowsDigest());
}

TEST(TablePrecision, IsOneOfThree) {
  for (const std::string precision : {"f32", "bf16", "f16"}) {
    EXPECT_OK(RecordWeightsTable(precision).Validate());
  }
  EXPECT_EQ(RecordWeightsTable("fp16").Validate().message(),
            "table \"user\": precision: unknown \"fp16\" (known: f32, bf16, f16). Did you mean "
            "\"f16\"?");
}

TEST(TablePrecision, IsThatOfEveryPhysicalTableButOfLearnedWeights) {
  LogicalTable table;
  static_cast<TableSpec&>(table) = RecordWeightsTable("bf16");
  table.kind = "qr";
  table.weighted_pooling = "learned";
  const EmbeddingTables tables = EmbeddingTables::Make({table}).value();
  ASSERT_EQ(tables.physical.size(), 3u);
  EXPECT_EQ(tables.physical[0].precision, "bf16");
  EXPECT_EQ(tables.physical[1].precision, "bf16");
  EXPECT_EQ(tables.physical[2].name, "user.weights");
  EXPECT_EQ(tables.physical[2].precision, "f32");
}

}  // namespace
}  // namespace rowhouse
