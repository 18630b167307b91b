#include "ps/store/written_rows.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace rowhouse {
namespace {

constexpr size_t kLine = 64;       // bytes; what a set is a multiple of
constexpr size_t kBlockWords = 8;  // of 32 bits: two blocks a cache line, none across two
constexpr size_t kBlockBytes = kBlockWords * sizeof(uint32_t);
// Odd multipliers that choose a bit of each word, from Parquet's specification.
constexpr uint32_t kSalts[kBlockWords] = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                                          0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};

// The finaliser of SplitMix64: positions are dense, hashes must not be.
uint64_t Hash(uint64_t position) {
  uint64_t x = position + 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Where a position's block begins, by the upper half of its hash, without a division.
size_t BlockOffset(uint64_t hash, size_t bytes) {
  const uint64_t blocks = bytes / kBlockBytes;
  return static_cast<size_t>(static_cast<unsigned __int128>(hash) * blocks >> 64) * kBlockBytes;
}

uint32_t BitOfWord(uint64_t hash, size_t word) {
  return uint32_t{1} << (static_cast<uint32_t>(hash) * kSalts[word] >> 27);
}

size_t RoundUpToLines(uint64_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

}  // namespace

WrittenRows::WrittenRows(uint64_t rows, uint64_t budget_bytes) : rows_(rows) {
  CHECK_GE(rows, 1u);
  const uint64_t budget = std::max<uint64_t>(budget_bytes / kLine * kLine, kLine);
  const uint64_t exact = RoundUpToLines((rows - 1) / 8 + 1);
  is_exact_ = exact <= budget;
  bytes_ = is_exact_ ? exact : budget;
  memory_ = PageMemory(bytes_);
}

WrittenRows::~WrittenRows() = default;
WrittenRows::WrittenRows(WrittenRows&& other) noexcept = default;
WrittenRows& WrittenRows::operator=(WrittenRows&& other) noexcept = default;

void WrittenRows::Add(uint64_t position) {
  CHECK_LT(position, rows_);
  if (is_exact_) {
    std::byte& byte = memory_.data()[position / 8];
    const std::byte bit = std::byte{1} << (position % 8);
    added_ += (byte & bit) == std::byte{0} ? 1 : 0;
    byte |= bit;
    return;
  }
  const uint64_t hash = Hash(position);
  std::byte* block = memory_.data() + BlockOffset(hash, bytes_);
  uint32_t words[kBlockWords];
  std::memcpy(words, block, kBlockBytes);
  uint32_t fresh = 0;
  for (size_t i = 0; i < kBlockWords; ++i) {
    const uint32_t bit = BitOfWord(hash, i);
    fresh |= bit & ~words[i];
    words[i] |= bit;
  }
  std::memcpy(block, words, kBlockBytes);
  added_ += fresh != 0 ? 1 : 0;
}

bool WrittenRows::MayContain(uint64_t position) const {
  CHECK_LT(position, rows_);
  if (is_exact_) {
    return (memory_.data()[position / 8] & (std::byte{1} << (position % 8))) != std::byte{0};
  }
  const uint64_t hash = Hash(position);
  uint32_t words[kBlockWords];
  std::memcpy(words, memory_.data() + BlockOffset(hash, bytes_), kBlockBytes);
  uint32_t absent = 0;
  for (size_t i = 0; i < kBlockWords; ++i) absent |= BitOfWord(hash, i) & ~words[i];
  return absent == 0;
}

void WrittenRows::Prefetch(uint64_t position) const {
  const size_t offset = is_exact_ ? position / 8 : BlockOffset(Hash(position), bytes_);
  __builtin_prefetch(memory_.data() + offset);
}

void WrittenRows::SetBytes(std::span<const std::byte> bytes, uint64_t added) {
  CHECK_EQ(bytes.size(), bytes_);
  std::memcpy(memory_.data(), bytes.data(), bytes_);
  added_ = added;
}

}  // namespace rowhouse
