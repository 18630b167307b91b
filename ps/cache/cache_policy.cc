#include "ps/cache/cache_policy.h"

namespace rowhouse {

Registry<CachePolicy, CachePolicyOptions>& CachePolicies() {
  static Registry<CachePolicy, CachePolicyOptions> registry("cache policy");
  return registry;
}

}  // namespace rowhouse
