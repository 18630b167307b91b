#include "ps/cache/cache_policy.h"

namespace rowhouse {

Registry<CachePolicy, CachePolicyOptions, Retention>& CachePolicies() {
  static Registry<CachePolicy, CachePolicyOptions, Retention> registry("cache policy");
  return registry;
}

}  // namespace rowhouse
