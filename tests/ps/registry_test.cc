// Each family holds the names that others rely on: a suite over an empty registry would pass
// without running anything.
#include "ps/row_store.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TEST(Registries, EachFamilyHoldsItsMembers) {
  EXPECT_THAT(RowStores().Names(), testing::IsSupersetOf({"memory", "rocksdb"}));
}

}  // namespace
}  // namespace rowhouse
