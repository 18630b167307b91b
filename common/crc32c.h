// CRC-32C (Castagnoli polynomial 0x1EDC6F41, reflected; RFC 3720 section 12.1): the checksum of
// small frames on the wire, of push-log records and of files in a manifest.
//
// Uses the SSE4.2 instruction if the CPU has it, else eight tables; the results are equal.
// Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace rowhouse {

// Continues a checksum: `crc` is the checksum of what comes before `bytes`, 0 if nothing does.
// Returns the checksum of both together.
uint32_t ExtendCrc32c(uint32_t crc, std::span<const std::byte> bytes);

inline uint32_t Crc32c(std::span<const std::byte> bytes) { return ExtendCrc32c(0, bytes); }
inline uint32_t Crc32c(std::string_view text) {
  return Crc32c(std::as_bytes(std::span(text.data(), text.size())));
}

// The same without the instruction; for tests.
uint32_t ExtendCrc32cPortable(uint32_t crc, std::span<const std::byte> bytes);

}  // namespace rowhouse
