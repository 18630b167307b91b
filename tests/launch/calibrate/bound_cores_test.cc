// A thread that is bound runs on its core, and gets back the cores that it had.
#include "launch/calibrate/bound_cores.h"

#include <thread>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

using testing::ElementsAre;

TEST(BoundToCore, HoldsForTheThreadAndThoseItStartsUntilItEnds) {
  const std::vector<int> before = AllowedCores();
  ASSERT_FALSE(before.empty());
  {
    const BoundToCore bound(before.back());
    EXPECT_THAT(AllowedCores(), ElementsAre(before.back()));
    std::vector<int> of_thread;
    std::thread([&] { of_thread = AllowedCores(); }).join();
    EXPECT_THAT(of_thread, ElementsAre(before.back()));
  }
  EXPECT_EQ(AllowedCores(), before);
}

TEST(BoundToCore, ThatIsNotThereChangesNothing) {
  const std::vector<int> before = AllowedCores();
  const BoundToCore bound(CPU_SETSIZE - 1);
  EXPECT_EQ(AllowedCores(), before);
}

}  // namespace
}  // namespace rowhouse
