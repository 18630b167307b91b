#include "ps/store/store_key.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "sharding/rows/record.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

// These bytes lie in every row directory. If this test fails, old directories cannot be read.
TEST(StoreKey, GoldenBytes) {
  const StoreKey key{TableId{0x01020304}, RowId{0x1112131415161718}, 0x2122};
  const StoreKey::Encoded expected = {0x01, 0x02, 0x03, 0x04, 0x11, 0x12, 0x13,
                                      0x14, 0x15, 0x16, 0x17, 0x18, 0x21, 0x22};
  EXPECT_EQ(key.Encode(), expected);
  EXPECT_EQ(StoreKey::Decode(expected.data()), key);
}

TEST(StoreKey, BytesSortAsKeysDo) {
  const uint64_t values[] = {0, 1, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xffff};
  std::vector<StoreKey> keys;
  for (const uint64_t table : values) {
    for (const uint64_t row : {uint64_t{0}, uint64_t{255}, uint64_t{256}, uint64_t{1} << 40,
                               std::numeric_limits<uint64_t>::max()}) {
      for (const uint64_t column : values) {
        keys.push_back({TableId{static_cast<uint32_t>(table << 16)}, RowId{row},
                        static_cast<uint16_t>(column)});
      }
    }
  }
  ASSERT_TRUE(std::is_sorted(keys.begin(), keys.end()));
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end(), [](const StoreKey& a, const StoreKey& b) {
    const StoreKey::Encoded x = a.Encode(), y = b.Encode();
    return std::memcmp(x.data(), y.data(), x.size()) < 0;
  }));
  for (const StoreKey& key : keys) EXPECT_EQ(StoreKey::Decode(key.Encode().data()), key);
}

// weights 1.0, -2.0; state 0.5; LSN, last step, frequency: little-endian, no gaps.
TEST(Record, GoldenBytes) {
  const uint8_t expected[] = {0x00, 0x00, 0x80, 0x3f, 0x00, 0x00, 0x00, 0xc0, 0x00, 0x00,
                              0x00, 0x3f, 0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,
                              0x14, 0x13, 0x12, 0x11, 0x24, 0x23, 0x22, 0x21};
  const RecordLayout layout{.dim = 2, .state_floats = 1};
  ASSERT_EQ(layout.bytes(), sizeof(expected));

  alignas(4) std::byte record[sizeof(expected)] = {};
  layout.weights(record)[0] = 1.0f;
  layout.weights(record)[1] = -2.0f;
  layout.state(record)[0] = 0.5f;
  layout.set_trailer(record,
                     {.lsn = 0x0102030405060708, .last_step = 0x11121314, .frequency = 0x21222324});
  EXPECT_EQ(std::memcmp(record, expected, sizeof(expected)), 0);
  EXPECT_EQ(layout.trailer(record).lsn, 0x0102030405060708u);
  EXPECT_EQ(layout.trailer(record).last_step, 0x11121314u);
  EXPECT_EQ(layout.trailer(record).frequency, 0x21222324u);
}

}  // namespace
}  // namespace rowhouse
