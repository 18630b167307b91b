#include "common/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace rowhouse {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint32_t kReflectedPolynomial = 0x82f63b78u;
using Tables = std::array<std::array<uint32_t, 256>, 8>;

// tables[0][b] is the effect of byte b; tables[k][b] that of b with k zero bytes after it, so
// that eight bytes are looked up independently of each other ("slicing-by-8", Kounavis and Berry,
// 2005).
constexpr Tables MakeTables() {
  Tables tables{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? kReflectedPolynomial : 0);
    tables[0][b] = crc;
  }
  for (size_t k = 1; k < tables.size(); ++k) {
    for (uint32_t b = 0; b < 256; ++b) {
      const uint32_t crc = tables[k - 1][b];
      tables[k][b] = (crc >> 8) ^ tables[0][crc & 0xff];
    }
  }
  return tables;
}

constexpr Tables kTables = MakeTables();

uint64_t LoadWord(const std::byte* data) {
  uint64_t word;
  std::memcpy(&word, data, sizeof(word));
  return word;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t ExtendByInstruction(uint32_t crc,
                                                               std::span<const std::byte> bytes) {
  const std::byte* data = bytes.data();
  size_t left = bytes.size();
  uint64_t state = ~crc;
  for (; left >= 8; left -= 8, data += 8) state = _mm_crc32_u64(state, LoadWord(data));
  uint32_t narrow = static_cast<uint32_t>(state);
  for (; left > 0; --left, ++data) narrow = _mm_crc32_u8(narrow, static_cast<uint8_t>(*data));
  return ~narrow;
}

bool CpuHasInstruction() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("sse4.2");
}
#endif

}  // namespace

uint32_t ExtendCrc32cPortable(uint32_t crc, std::span<const std::byte> bytes) {
  const std::byte* data = bytes.data();
  size_t left = bytes.size();
  uint32_t state = ~crc;
  for (; left >= 8; left -= 8, data += 8) {
    const uint64_t word = LoadWord(data) ^ state;
    state = 0;
    for (size_t k = 0; k < 8; ++k) state ^= kTables[7 - k][(word >> (8 * k)) & 0xff];
  }
  for (; left > 0; --left, ++data) {
    state = (state >> 8) ^ kTables[0][(state ^ static_cast<uint32_t>(*data)) & 0xff];
  }
  return ~state;
}

uint32_t ExtendCrc32c(uint32_t crc, std::span<const std::byte> bytes) {
#if defined(__x86_64__)
  static const bool has_instruction = CpuHasInstruction();
  if (has_instruction) return ExtendByInstruction(crc, bytes);
#endif
  return ExtendCrc32cPortable(crc, bytes);
}

}  // namespace rowhouse
