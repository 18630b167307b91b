// Each family holds the names that others rely on: a suite over an empty registry would pass
// without running anything.
#include "ps/cache/cache_policy.h"
#include "ps/store/row_store.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

TEST(Registries, EachFamilyHoldsItsMembers) {
  EXPECT_THAT(CachePolicies().Names(),
              testing::IsSupersetOf({"clock", "dataset", "lfu", "lrfu", "lru", "w_tinylfu"}));
  EXPECT_OK(CachePolicies().Validate(kDefaultCachePolicy));
  EXPECT_THAT(RowStores().Names(), testing::IsSupersetOf({"memory", "rocksdb"}));
}

}  // namespace
}  // namespace rowhouse
