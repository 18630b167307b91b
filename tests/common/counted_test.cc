#include "common/counted.h"

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TEST(Counted, OneIsOne) {
  EXPECT_EQ(Counted(0, "shard"), "0 shards");
  EXPECT_EQ(Counted(1, "shard"), "1 shard");
  EXPECT_EQ(Counted(2, "PS node"), "2 PS nodes");
  EXPECT_EQ(Counted(1, "capacity", "capacities"), "1 capacity");
  EXPECT_EQ(Counted(2, "capacity", "capacities"), "2 capacities");
}

}  // namespace
}  // namespace rowhouse
