#include "ps/store/written_rows.h"

#include <glog/logging.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
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

static_assert(std::endian::native == std::endian::little);

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

size_t ExactBytes(uint64_t rows) { return RoundUpToLines((rows - 1) / 8 + 1); }

uint32_t* WordAt(std::byte* memory, uint64_t offset) {
  return reinterpret_cast<uint32_t*>(memory + offset);
}

// Only the set's thread writes words; CopyBytes may read them on another.
bool SetBits(uint32_t& word, uint32_t bits) {
  const uint32_t before = word;
  if ((bits & ~before) == 0) return false;
  std::atomic_ref(word).store(before | bits, std::memory_order_relaxed);
  return true;
}

}  // namespace

WrittenRows::WrittenRows(uint64_t rows, uint64_t budget_bytes) {
  CHECK_GE(rows, 1u);
  const uint64_t budget = std::max<uint64_t>(budget_bytes / kLine * kLine, kLine);
  const uint64_t exact = ExactBytes(rows);
  *this = WrittenRows(rows, std::min(exact, budget), exact <= budget, /*added=*/0);
}

WrittenRows::WrittenRows(uint64_t rows, size_t bytes, bool is_exact, uint64_t added)
    : rows_(rows), bytes_(bytes), is_exact_(is_exact), added_(added), memory_(bytes) {}

WrittenRows::~WrittenRows() = default;
WrittenRows::WrittenRows(WrittenRows&& other) noexcept = default;
WrittenRows& WrittenRows::operator=(WrittenRows&& other) noexcept = default;

void WrittenRows::Add(uint64_t position) {
  CHECK_LT(position, rows_);
  if (!Set(position)) return;
  std::atomic_ref(added_).store(added_ + 1, std::memory_order_relaxed);
}

bool WrittenRows::Set(uint64_t position) {
  if (is_exact_) {
    return SetBits(WordAt(memory_.data(), 0)[position / 32], uint32_t{1} << (position % 32));
  }
  const uint64_t hash = Hash(position);
  uint32_t* const words = WordAt(memory_.data(), BlockOffset(hash, bytes_));
  bool is_fresh = false;
  for (size_t i = 0; i < kBlockWords; ++i) is_fresh |= SetBits(words[i], BitOfWord(hash, i));
  return is_fresh;
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

uint64_t WrittenRows::added() const {
  return std::atomic_ref(const_cast<uint64_t&>(added_)).load(std::memory_order_relaxed);
}

bool WrittenRows::IsPossible(const Shape& shape) {
  if (shape.rows == 0 || shape.bytes == 0 || shape.bytes % kLine != 0) return false;
  const uint64_t exact = ExactBytes(shape.rows);
  return shape.is_exact ? shape.bytes == exact : shape.bytes <= exact;
}

void WrittenRows::CopyBytes(uint64_t offset, std::span<std::byte> out) const {
  CHECK_LE(offset + out.size(), bytes_);
  for (size_t at = 0; at < out.size(); at += sizeof(uint32_t)) {
    const uint32_t word =
        std::atomic_ref(*WordAt(memory_.data(), offset + at)).load(std::memory_order_relaxed);
    std::memcpy(out.data() + at, &word, sizeof word);
  }
}

WrittenRows WrittenRows::EmptyFor(const Shape& other) const {
  CHECK(IsPossible(other) && other.rows == rows_);
  if (other.is_exact) return WrittenRows(rows_, bytes_, is_exact_, other.added);
  const size_t bytes = other.bytes <= bytes_ ? bytes_ / other.bytes * other.bytes : bytes_;
  return WrittenRows(rows_, bytes, /*is_exact=*/false, other.added);
}

void WrittenRows::AddBytes(const Shape& other, uint64_t offset, std::span<const std::byte> bytes) {
  CHECK_LE(offset + bytes.size(), other.bytes);
  if (other.is_exact && is_exact_) {
    std::memcpy(memory_.data() + offset, bytes.data(), bytes.size());
  } else if (other.is_exact && other.added >= bytes_ * 8) {
    // A filter of a bit a row tells nothing, and takes long to fill.
    if (offset == 0) std::memset(memory_.data(), 0xff, bytes_);
  } else if (other.is_exact) {
    AddPositions(offset * 8, bytes);
  } else {
    AddBlocks(other.bytes / kBlockBytes, offset / kBlockBytes, bytes);
  }
}

// Adds first + i for each bit i. Positions are hashed some way ahead: each is a cache miss.
void WrittenRows::AddPositions(uint64_t first, std::span<const std::byte> bits) {
  constexpr size_t kAhead = 32;
  std::array<uint64_t, kAhead> ahead;
  size_t count = 0;
  const auto add_all = [&] {
    for (size_t i = 0; i < count; ++i) Set(ahead[i]);
    count = 0;
  };
  for (size_t at = 0; at < bits.size(); at += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, bits.data() + at, sizeof word);
    for (; word != 0; word &= word - 1) {
      ahead[count] = first + at * 8 + static_cast<uint64_t>(std::countr_zero(word));
      Prefetch(ahead[count]);
      if (++count == kAhead) add_all();
    }
  }
  add_all();
}

// Of a filter of `blocks` blocks, from block `first` on. A block is a range of hashes, and goes to
// each block here whose range overlaps that.
void WrittenRows::AddBlocks(uint64_t blocks, uint64_t first, std::span<const std::byte> bytes) {
  const uint64_t mine = bytes_ / kBlockBytes;
  for (size_t at = 0; at < bytes.size(); at += kBlockBytes) {
    const uint64_t block = first + at / kBlockBytes;
    uint32_t added[kBlockWords];
    std::memcpy(added, bytes.data() + at, kBlockBytes);
    const uint64_t end = ((block + 1) * mine - 1) / blocks + 1;
    for (uint64_t to = block * mine / blocks; to < end; ++to) {
      uint32_t* const words = WordAt(memory_.data(), to * kBlockBytes);
      for (size_t i = 0; i < kBlockWords; ++i) words[i] |= added[i];
    }
  }
}

}  // namespace rowhouse
