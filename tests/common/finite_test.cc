#include "common/kernels/finite.h"

#include <fmt/format.h>

#include <vector>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kMax = std::numeric_limits<float>::max();

TEST(Finite, TheFirstThatIsNotIsFoundWhereverItLies) {
  for (const size_t size : {1u, 7u, 64u, 1024u, 1025u, 3000u}) {
    std::vector<float> values(size, -kMax);
    values[0] = std::numeric_limits<float>::denorm_min();
    EXPECT_TRUE(AreFinite(values));
    EXPECT_EQ(FirstNotFinite(values), std::nullopt);
    for (const size_t at : {size_t{0}, size / 2, size - 1}) {
      for (const float bad : {kInf, -kInf, kNan, -kNan, std::bit_cast<float>(0x7f800001u)}) {
        std::vector<float> sick = values;
        sick[at] = sick[size - 1] = bad;
        EXPECT_FALSE(AreFinite(sick));
        EXPECT_EQ(FirstNotFinite(sick), at);
      }
    }
  }
  EXPECT_TRUE(AreFinite({}));
}

TEST(Finite, PeopleReadNoSignOfANan) {
  EXPECT_EQ(fmt::format("{} {} {} {}", ForPeople(-kNan), ForPeople(-std::nan("")), ForPeople(-kInf),
                        ForPeople(-0.5)),
            "nan nan -inf -0.5");
}

}  // namespace
}  // namespace rowhouse
