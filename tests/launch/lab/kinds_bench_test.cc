// bench kinds: its bytes by arithmetic; its times are only there.
#include "launch/bench/kinds.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TEST(KindsBenchTest, BytesAreThoseOfTheTables) {
  const KindSizes sizes = {.rows = 400, .dim = 16, .block_dim = 4};
  const auto measured = MeasureKinds(sizes, {{"one-hot", 4000, 1}, {"bags of 5", 60, 5}}, 1);
  ASSERT_OK(measured);
  const std::vector<KindFigure>& figures = measured.value();
  ASSERT_EQ(figures.size(), 12u);  // 2 shapes x 2 poolings x 3 kinds
  EXPECT_EQ(figures[0].kind, "plain");
  EXPECT_EQ(figures[0].table_bytes, 400u * 16 * 4);
  EXPECT_EQ(figures[0].pulled_bytes, 400u * 16 * 4);  // 4,000 ids of 400: all of them
  EXPECT_EQ(figures[1].kind, "block");
  EXPECT_EQ(figures[1].table_bytes, 400u * 4 * 4 + 16 * 4 * 4);
  EXPECT_EQ(figures[1].pulled_bytes, 400u * 4 * 4);
  EXPECT_EQ(figures[2].kind, "qr");
  EXPECT_EQ(figures[2].table_bytes, 2u * 20 * 16 * 4);
  EXPECT_DOUBLE_EQ(figures[2].of_plain_bytes, 0.1);
  for (const KindFigure& one : figures) {
    EXPECT_GT(one.times.total(), 0) << one.kind;
    EXPECT_EQ(one.spread, 0) << "of one round";
  }
  EXPECT_EQ(figures[3].pooling, "max");
  EXPECT_EQ(figures[6].bags, "bags of 5");
}

}  // namespace
}  // namespace rowhouse
