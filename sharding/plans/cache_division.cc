#include "sharding/plans/cache_division.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace rowhouse {

std::vector<uint64_t> EqualShares(const std::vector<uint64_t>& wanted, uint64_t budget) {
  std::vector<size_t> ascending(wanted.size());
  std::iota(ascending.begin(), ascending.end(), size_t{0});
  std::ranges::stable_sort(ascending, {}, [&](size_t i) { return wanted[i]; });
  std::vector<uint64_t> shares(wanted.size());
  size_t left = wanted.size();
  for (const size_t i : ascending) {
    shares[i] = std::min(wanted[i], budget / left--);
    budget -= shares[i];
  }
  return shares;
}

std::vector<uint64_t> DivideCache(const std::vector<CachedSlice>& slices, uint64_t budget) {
  if (std::ranges::none_of(slices, [](const CachedSlice& slice) { return !!slice.table_share; })) {
    std::vector<uint64_t> wanted;
    for (const CachedSlice& slice : slices) wanted.push_back(slice.bytes);
    return EqualShares(wanted, budget);
  }
  std::map<TableId, double> bytes_of_table;
  for (const CachedSlice& slice : slices) {
    bytes_of_table[slice.table] += static_cast<double>(slice.bytes);
  }
  std::vector<uint64_t> bytes(slices.size());
  uint64_t left = budget;
  for (size_t i = 0; i < slices.size(); ++i) {
    const CachedSlice& slice = slices[i];
    if (!slice.table_share || slice.bytes == 0) continue;
    const double part = static_cast<double>(slice.bytes) / bytes_of_table[slice.table];
    const auto granted =
        static_cast<uint64_t>(*slice.table_share * part * static_cast<double>(budget));
    bytes[i] = std::min({granted, slice.bytes, left});
    left -= bytes[i];
  }
  for (const bool is_for_all : {false, true}) {
    std::vector<uint64_t> more;
    for (size_t i = 0; i < slices.size(); ++i) {
      const bool takes_part = is_for_all || !slices[i].table_share;
      more.push_back(takes_part ? slices[i].bytes - bytes[i] : 0);
    }
    more = EqualShares(more, left);
    for (size_t i = 0; i < slices.size(); ++i) {
      bytes[i] += more[i];
      left -= more[i];
    }
  }
  return bytes;
}

}  // namespace rowhouse
