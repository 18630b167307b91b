#include "ps/cache/cache_places.h"

#include <glog/logging.h>

#include <algorithm>

namespace rowhouse {

CacheShape CacheShape::Of(uint64_t capacity_rows, uint32_t ways) {
  CHECK_GT(ways, 0u);
  const uint64_t rows = std::max<uint64_t>(capacity_rows, 1);
  if (ways == 1) return {.sets = 1, .ways = std::min(rows, kMaxFullyAssociativeSlots)};
  if (rows <= ways) return {.sets = 1, .ways = rows};
  // A small capacity that is no multiple of `ways` loses fewer slots with one more set of fewer
  // ways.
  const CacheShape fewer{.sets = rows / ways, .ways = ways};
  const uint64_t more_sets = fewer.sets + 1;
  const CacheShape more{.sets = more_sets, .ways = rows / more_sets};
  return more.sets * more.ways > fewer.sets * fewer.ways ? more : fewer;
}

}  // namespace rowhouse
