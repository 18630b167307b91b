#include "launch/exports/matrix_file.h"

#include <array>
#include <fstream>
#include <sstream>

#include "common/npy_file.h"
#include "tests/testing/small_disk.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TEST(MatrixFile, AnNpyFileIsReadBackAndItsValuesAreAligned) {
  const TempDir dir;
  auto file = MatrixFile::Create(dir / "m.npy", "npy", 3, 2);
  ASSERT_OK(file);
  ASSERT_OK(file.value()->Append(std::array{1.0f, -2.5f}));
  ASSERT_OK(file.value()->Append(std::array{0.1f, 3e-20f, 5.0f, 6.0f}));
  ASSERT_OK(file.value()->Finish());
  const auto npy = NpyFile::Open(dir / "m.npy");
  ASSERT_OK(npy);
  EXPECT_EQ(npy.value()->rows(), 3u);
  EXPECT_EQ(npy.value()->columns(), 2u);
  EXPECT_EQ((npy.value()->bytes() - 24) % 64, 0u);
  std::vector<float> values(6);
  ASSERT_OK(npy.value()->Read(0, values));
  EXPECT_EQ(values, (std::vector<float>{1.0f, -2.5f, 0.1f, 3e-20f, 5.0f, 6.0f}));
}

TEST(MatrixFile, ATsvFileHasALineARowThatIsReadBackExactly) {
  const TempDir dir;
  auto file = MatrixFile::Create(dir / "m.tsv", "tsv", 2, 2);
  ASSERT_OK(file);
  ASSERT_OK(file.value()->Append(std::array{1.0f, -2.5f, 0.1f, 3e-20f}));
  ASSERT_OK(file.value()->Finish());
  EXPECT_EQ(FileText(dir / "m.tsv"), "0\t1\t-2.5\n1\t0.1\t3e-20\n");
}

TEST(MatrixFile, AVectorHasOneDimension) {
  const TempDir dir;
  auto file = MatrixFile::Create(dir / "v.npy", "npy", 3, 1, /*is_vector=*/true);
  ASSERT_OK(file);
  ASSERT_OK(file.value()->Append(std::array{1.0f, 2.0f, 3.0f}));
  ASSERT_OK(file.value()->Finish());
  EXPECT_THAT(FileText(dir / "v.npy"), testing::HasSubstr("'shape': (3,), }"));
}

TEST(MatrixFile, QuantisedRowsAreBytesOrHalves) {
  const TempDir dir;
  const std::array rows = {0.0f, 1.0f, 2.0f, 3.0f, 5.0f, -1.0f};
  for (const auto& [bits, header] :
       {std::pair(16u, "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3), }"),
        {8u, "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 11), }"},
        {4u, "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 6), }"},
        {2u, "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 5), }"}}) {
    auto file = MatrixFile::Create(dir / "m.npy", "npy", 2, 3, /*is_vector=*/false, bits);
    ASSERT_OK(file);
    ASSERT_OK(file.value()->Append(std::span(rows).first(3)));
    ASSERT_OK(file.value()->Append(std::span(rows).last(3)));
    ASSERT_OK(file.value()->Finish());
    std::string want(2 * BytesOfRow(bits, 3), '\0');
    ASSERT_OK(QuantiseRows(bits, 0, rows, 3, std::as_writable_bytes(std::span(want))));
    const std::string text = FileText(dir / "m.npy");
    EXPECT_EQ(text.size(), static_cast<size_t>(BytesOfMatrix("npy", 2, 3, bits)) + 128);
    EXPECT_THAT(text, testing::HasSubstr(header));
    EXPECT_EQ(text.substr(128), want);
  }
}

TEST(MatrixFile, ARowThatCannotBeQuantisedIsNamed) {
  const TempDir dir;
  auto file = MatrixFile::Create(dir / "m.npy", "npy", 3, 1, /*is_vector=*/false, 4);
  ASSERT_OK(file);
  ASSERT_OK(file.value()->Append(std::array{1.0f}));
  const Status status = file.value()->Append(std::array{2.0f, -1e6f});
  EXPECT_EQ(status.exit_code(), 2);
  EXPECT_THAT(status.message(), testing::HasSubstr("row 2 has the number -1000000"));
}

TEST(MatrixFile, AFullDiskIsSaidToBeFull) {
  const TempDir dir;
  const SmallDisk disk(dir / "disk", "64k");
  if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs is not allowed";
  auto file = MatrixFile::Create(dir / "disk/m.npy", "npy", 1, 100000);
  ASSERT_OK(file);
  ASSERT_OK(file.value()->Append(std::vector<float>(100000)));  // still in memory
  const Status status = file.value()->Finish();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status.ToString();
}

}  // namespace
}  // namespace rowhouse
