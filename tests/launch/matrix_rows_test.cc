// Rows of a file are what was written, however far apart they lie.
#include "launch/exports/matrix_rows.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "common/kernels/quantised_rows.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

constexpr uint32_t kDim = 16;

// A file of 100 bytes, then 400,000 rows of 24 bytes: 9.6 MB.
class RowsOfFile : public testing::Test {
 protected:
  static constexpr uint64_t kRows = 400'000;

  RowsOfFile() {
    std::vector<float> values(kRows * kDim);
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(i / kDim + i % kDim);
    stored_.resize(kRows * BytesOfRow(8, kDim));
    CHECK(QuantiseRows(8, 0, values, kDim, stored_).ok());
    std::ofstream(path_) << std::string(100, 'x')
                         << std::string_view(reinterpret_cast<const char*>(stored_.data()),
                                             stored_.size());
  }

  void ExpectRows(const MatrixRows& file, const std::vector<RowId>& rows) {
    std::vector<std::byte> read(rows.size() * file.row_bytes()), due;
    ASSERT_OK(file.Read(rows, read));
    for (const RowId row : rows) {
      const std::byte* const of = &stored_[Raw(row) * file.row_bytes()];
      due.insert(due.end(), of, of + file.row_bytes());
    }
    EXPECT_TRUE(read == due);
  }

  TempDir dir_;
  const std::string path_ = dir_ / "rows";
  std::vector<std::byte> stored_;
};

TEST_F(RowsOfFile, RowsAreReadWhereverTheyLie) {
  const auto file = MatrixRows::Open(path_, kRows, 8, kDim);
  ASSERT_OK(file);
  ExpectRows(*file.value(), {});
  ExpectRows(*file.value(), {RowId{0}});
  ExpectRows(*file.value(), {RowId{kRows - 1}});
  // One read, reads with gaps below and above kGapBytes, and all rows, in more than one read.
  for (const uint64_t step : {1, 7, 3000, 5461, 5462, 20'000, 399'999}) {
    std::vector<RowId> rows;
    for (uint64_t row = 0; row < kRows; row += step) rows.push_back(RowId{row});
    ExpectRows(*file.value(), rows);
  }
  std::vector<std::byte> all(stored_.size());
  ASSERT_OK(file.value()->ReadAll(all));
  EXPECT_TRUE(all == stored_);
}

TEST_F(RowsOfFile, AFileThatBecameShorterIsNamed) {
  const auto file = MatrixRows::Open(path_, kRows, 8, kDim);
  ASSERT_OK(file);
  std::filesystem::resize_file(path_, stored_.size() / 2 + 1);
  std::vector<std::byte> read(2 * file.value()->row_bytes());
  ASSERT_OK(file.value()->Read(std::vector{RowId{3}, RowId{4}}, read));
  const Status status = file.value()->Read(std::vector{RowId{3}, RowId{kRows - 2}}, read);
  EXPECT_EQ(status.code(), StatusCode::kCorruption);
  EXPECT_THAT(status.message(), HasSubstr(path_ + " ends after"));
}

}  // namespace
}  // namespace rowhouse
