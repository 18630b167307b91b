// Quantised rows, byte for byte as torch lays them, and back.
#include "common/kernels/quantised_rows.h"

#include <cmath>
#include <limits>
#include <random>

#include "common/kernels/half_precision.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

using RowBytes = std::vector<uint32_t>;

std::vector<std::byte> Quantised(uint32_t bits, const std::vector<float>& row) {
  std::vector<std::byte> bytes(BytesOfRow(bits, row.size()));
  EXPECT_OK(QuantiseRows(bits, 0, row, row.size(), bytes));
  return bytes;
}

std::vector<float> Dequantised(uint32_t bits, const std::vector<std::byte>& row, size_t dim) {
  std::vector<float> values(dim);
  DequantiseRows(bits, row, dim, values);
  return values;
}

RowBytes NumbersOf(const std::vector<std::byte>& bytes) {
  RowBytes numbers;
  for (const std::byte byte : bytes) numbers.push_back(std::to_integer<uint32_t>(byte));
  return numbers;
}

TEST(QuantisedRows, HaveTheBytesOfTorchAndItsNumbers) {
  const nlohmann::json file = LoadVectors("quantized_embedding.json");
  size_t rows = 0;
  for (const auto& [name, bits] : {std::pair("rows8", 8u), {"rows4", 4u}, {"rows2", 2u}}) {
    for (const nlohmann::json& one : file.at(name)) {
      const auto row = one.at("row").get<std::vector<float>>();
      const std::vector<std::byte> bytes = Quantised(bits, row);
      EXPECT_EQ(NumbersOf(bytes), one.at("bytes").get<RowBytes>()) << one;
      EXPECT_EQ(Dequantised(bits, bytes, row.size()), one.at("dequant").get<std::vector<float>>())
          << one;
      ++rows;
    }
  }
  EXPECT_EQ(rows, 24u);
  for (const nlohmann::json& one : file.at("odd_lengths")) {
    const auto row = one.at("row").get<std::vector<float>>();
    for (const auto& [name, bits] : {std::pair("bytes8", 8u), {"bytes4", 4u}, {"bytes2", 2u}}) {
      EXPECT_EQ(NumbersOf(Quantised(bits, row)), one.at(name).get<RowBytes>()) << one;
    }
  }
  for (const nlohmann::json& one : file.at("bytes_per_row")) {
    const size_t dim = one.at("dim");
    EXPECT_EQ(BytesOfRow(8, dim), one.at("int8").get<size_t>());
    EXPECT_EQ(BytesOfRow(4, dim), one.at("int4").get<size_t>());
    EXPECT_EQ(BytesOfRow(2, dim), one.at("int2").get<size_t>());
    EXPECT_EQ(BytesOfRow(kFloatBits, dim), one.at("fp32").get<size_t>());
  }
}

// Over blocks of numbers and beside them.
TEST(QuantisedRows, AreWrongByHalfAScaleAtMost) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0.01f, 0.2f);
  for (const size_t dim : {1u, 7u, 64u, 255u, 259u, 600u}) {
    std::vector<float> row(dim);
    for (float& value : row) value = normal(random);
    const auto [least, greatest] = std::ranges::minmax(row);
    for (const uint32_t bits : {8u, 4u, 2u}) {
      const std::vector<float> back = Dequantised(bits, Quantised(bits, row), dim);
      const float scale = (greatest - least) / static_cast<float>((1u << bits) - 1);
      const float of_f16 = bits == 8 ? 1e-6f : 2e-3f;  // of scale and bias, relative
      for (size_t c = 0; c < dim; ++c) {
        ASSERT_NEAR(back[c], row[c], scale / 2 + of_f16 * (std::fabs(least) + greatest - least))
            << bits << " bits, dim " << dim;
      }
    }
    const std::vector<float> back = Dequantised(16, Quantised(16, row), dim);
    std::vector<uint16_t> halves(dim);
    RoundToNearestF16(row, halves);
    WidenF16(halves, row);
    EXPECT_EQ(back, row);
  }
}

TEST(QuantisedRows, OfEqualNumbersAreExactIn8Bits) {
  const std::vector<float> row(5, 0.1f);
  EXPECT_EQ(Dequantised(8, Quantised(8, row), row.size()), row);
}

TEST(QuantisedRows, RowsThatCannotBeQuantisedAreNamed) {
  struct Case {
    uint32_t bits;
    float value;
    std::string words;  // "": it can be
  };
  const float infinity = std::numeric_limits<float>::infinity();
  for (const Case& one :
       std::vector<Case>{{8, std::numeric_limits<float>::quiet_NaN(), "row 41 has the number nan"},
                         {8, -infinity, "row 41 has the number -inf"},
                         {4, infinity, "row 41 has the number inf"},
                         {2, -infinity, "row 41 has the number -inf"},
                         {16, infinity, "row 41 has the number inf"},
                         {4, -65505.0f, "row 41 has the number -65505"},
                         {2, -65505.0f, "row 41 has the number -65505"},
                         {16, -65505.0f, "row 41 has the number -65505"},
                         {16, 65505.0f, "row 41 has the number 65505"},
                         {4, 1e6f, "row 41 has the number 1000000"},
                         {8, -3e38f, "row 41 reaches from -3e+38 to 2e+38"},
                         {4, -65504.0f, ""},
                         {4, 65505.0f, ""},
                         {16, 65504.0f, ""},
                         {8, -1e30f, ""}}) {
    SCOPED_TRACE(fmt::format("{} bits, {}", one.bits, one.value));
    const std::vector<float> rows = {
        1.0f,      2.0f, 0.0f, one.words.find("reaches") != std::string::npos ? 2e38f : 3.0f,
        one.value, 1.0f};
    std::vector<std::byte> bytes(2 * BytesOfRow(one.bits, 3));
    const Status status = QuantiseRows(one.bits, 40, rows, 3, bytes);
    EXPECT_EQ(status.ok(), one.words.empty()) << status.ToString();
    if (status.ok()) continue;
    EXPECT_EQ(status.exit_code(), 2);
    EXPECT_THAT(status.message(), HasSubstr(one.words));
  }
}

}  // namespace
}  // namespace rowhouse
