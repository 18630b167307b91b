// TokenSet: how many different 32-bit tokens there are, exactly, in 2 bytes a token and at most
// 512 MiB: a set of 16-bit halves for each upper half, as a sorted array or, when that would be
// larger, as bits. After Roaring bitmaps (Chambi, Lemire et al., 2016).
//
// Threads: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rowhouse {

class TokenSet {
 public:
  TokenSet() : parts_(kParts) {}

  void Add(uint32_t token);
  uint64_t size() const { return size_; }

 private:
  static constexpr size_t kParts = size_t{1} << 16;
  static constexpr size_t kBitWords = kParts / 16;  // 16-bit words of a part that is bits

  std::vector<std::vector<uint16_t>> parts_;  // by upper half: sorted, or kBitWords words of bits
  uint64_t size_ = 0;
};

}  // namespace rowhouse
