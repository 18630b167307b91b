#include "worker/data/text/token_set.h"

#include <algorithm>

namespace rowhouse {

void TokenSet::Add(uint32_t token) {
  std::vector<uint16_t>& part = parts_[token >> 16];
  const auto low = static_cast<uint16_t>(token);
  if (part.size() < kBitWords) {
    const auto at = std::lower_bound(part.begin(), part.end(), low);
    if (at != part.end() && *at == low) return;
    ++size_;
    part.insert(at, low);
    if (part.size() < kBitWords) return;
    std::vector<uint16_t> bits(kBitWords);
    for (const uint16_t one : part) bits[one >> 4] |= static_cast<uint16_t>(1u << (one & 15));
    part = std::move(bits);
    return;
  }
  const auto bit = static_cast<uint16_t>(1u << (low & 15));
  if ((part[low >> 4] & bit) != 0) return;
  part[low >> 4] |= bit;
  ++size_;
}

}  // namespace rowhouse
