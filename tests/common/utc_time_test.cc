#include "common/clock.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TEST(UtcTime, IsWrittenAsInIso8601) {
  EXPECT_THAT(NowInUtc(), testing::MatchesRegex("20..-..-..T..:..:..Z"));
}

}  // namespace
}  // namespace rowhouse
