#include "common/crc32c.h"

#include <numeric>
#include <vector>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

std::vector<std::byte> Bytes(size_t size, uint8_t first, uint8_t step) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(first + i * step);
  return bytes;
}

// RFC 3720, appendix B.4, and the check value of the CRC catalogues.
TEST(Crc32c, KnownVectors) {
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(""), 0u);
  EXPECT_EQ(Crc32c(Bytes(32, 0x00, 0)), 0x8a9136aau);
  EXPECT_EQ(Crc32c(Bytes(32, 0xff, 0)), 0x62a8ab43u);
  EXPECT_EQ(Crc32c(Bytes(32, 0x00, 1)), 0x46dd794eu);
  EXPECT_EQ(Crc32c(Bytes(32, 0x1f, 0xff)), 0x113fdb5cu);
}

TEST(Crc32c, InstructionAndTablesAgreeAtEveryLengthAndOffset) {
  const std::vector<std::byte> bytes = Bytes(300, 7, 13);
  for (size_t offset = 0; offset < 9; ++offset) {
    for (size_t size = 0; size + offset <= bytes.size(); ++size) {
      const auto part = std::span(bytes).subspan(offset, size);
      ASSERT_EQ(ExtendCrc32c(17, part), ExtendCrc32cPortable(17, part)) << offset << " " << size;
    }
  }
}

TEST(Crc32c, ExtendingByPartsEqualsTheWhole) {
  const std::vector<std::byte> bytes = Bytes(100, 3, 5);
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    const auto all = std::span<const std::byte>(bytes);
    EXPECT_EQ(ExtendCrc32c(Crc32c(all.first(cut)), all.subspan(cut)), Crc32c(all));
  }
}

}  // namespace
}  // namespace rowhouse
