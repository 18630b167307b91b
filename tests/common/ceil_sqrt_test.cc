#include "common/rounding.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TEST(CeilSqrt, IsTheLeastWhoseSquareIsEnough) {
  for (uint64_t root = 1; root < 2000; ++root) {
    ASSERT_EQ(CeilSqrt(root * root), root);
    ASSERT_EQ(CeilSqrt(root * root + 1), root + 1);
    ASSERT_EQ(CeilSqrt((root + 1) * (root + 1) - 1), root + 1);
  }
  EXPECT_EQ(CeilSqrt(0), 0u);
}

// Where a double's root is off by one, or its square does not fit 64 bits.
TEST(CeilSqrt, IsExactBeyondADouble) {
  const uint64_t root = (uint64_t{1} << 32) - 1;
  EXPECT_EQ(CeilSqrt(root * root - 1), root);
  EXPECT_EQ(CeilSqrt(root * root), root);
  EXPECT_EQ(CeilSqrt(root * root + 1), root + 1);
  EXPECT_EQ(CeilSqrt(UINT64_MAX), root + 1);
}

}  // namespace
}  // namespace rowhouse
