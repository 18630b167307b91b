#include "common/wire/header.h"

#include <bit>
#include <cstring>
#include <iterator>

#include "common/crc32c.h"

namespace rowhouse {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the wire is little-endian and so is every CPU this was built for");

constexpr uint32_t kMagic = 0x53485752;  // "RWHS" as it lies in memory

constexpr size_t kMagicAt = 0;
constexpr size_t kVersionAt = 4;
constexpr size_t kTypeAt = 6;
constexpr size_t kJobIdAt = 8;
constexpr size_t kRequestIdAt = 16;
constexpr size_t kStepAt = 24;
constexpr size_t kPartAt = 32;
constexpr size_t kPartsAt = 36;
constexpr size_t kDeadlineAt = 40;
constexpr size_t kSenderAt = 44;
constexpr size_t kIncarnationAt = 48;
constexpr size_t kReservedAt = 56;
constexpr size_t kCrcAt = 60;

template <typename T>
void Store(std::byte* header, size_t at, T value) {
  std::memcpy(header + at, &value, sizeof(T));
}

template <typename T>
T Load(std::span<const std::byte> header, size_t at) {
  T value;
  std::memcpy(&value, header.data() + at, sizeof(T));
  return value;
}

uint32_t Checksum(std::span<const std::byte> header, std::span<const std::byte> body) {
  return ExtendCrc32c(Crc32c(header.first(kCrcAt)), body);
}

}  // namespace

std::string_view MessageTypeName(MessageType type) {
  // By number; 15 and 16 are not used any more.
  static constexpr std::string_view kNames[] = {"unknown",      "hello",
                                                "hello reply",  "pull",
                                                "pull reply",   "push",
                                                "push reply",   "flush",
                                                "flush reply",  "digest",
                                                "digest reply", "bye",
                                                "bye reply",    "stats",
                                                "stats reply",  "unknown",
                                                "unknown",      "error",
                                                "prefetch",     "busy",
                                                "checkpoint",   "checkpoint reply",
                                                "profile",      "profile reply"};
  const auto number = static_cast<size_t>(type);
  return number < std::size(kNames) ? kNames[number] : "unknown";
}

Frame EncodeHeader(const Header& header, std::span<const std::byte> body) {
  CHECK_LT(header.part, header.parts);
  Frame frame(kHeaderBytes);
  std::byte* out = frame.data();
  Store(out, kMagicAt, kMagic);
  Store(out, kVersionAt, kProtocolVersion);
  Store(out, kTypeAt, static_cast<uint16_t>(header.type));
  Store(out, kJobIdAt, header.job_id);
  Store(out, kRequestIdAt, header.request_id);
  Store(out, kStepAt, header.step);
  Store(out, kPartAt, header.part);
  Store(out, kPartsAt, header.parts);
  Store(out, kDeadlineAt, header.deadline_ms);
  Store(out, kSenderAt, header.sender);
  Store(out, kIncarnationAt, header.incarnation);
  Store(out, kReservedAt, uint32_t{0});
  Store(out, kCrcAt, Checksum(frame.bytes(), body));
  return frame;
}

Result<Header> DecodeHeader(std::span<const std::byte> header, std::span<const std::byte> body) {
  if (header.size() != kHeaderBytes) {
    return CorruptionError("message header of {} bytes, not {}", header.size(), kHeaderBytes);
  }
  const auto magic = Load<uint32_t>(header, kMagicAt);
  if (magic != kMagic) {
    return CorruptionError("message header starts with {:#010x}, not with \"RWHS\" ({:#010x})",
                           magic, kMagic);
  }
  // Before the checksum: what a newer version seals is not ours to know.
  const auto version = Load<uint16_t>(header, kVersionAt);
  if (version > kProtocolVersion) {
    return CorruptionError("the peer speaks protocol version {}, this build up to {}", version,
                           kProtocolVersion);
  }
  const auto crc = Load<uint32_t>(header, kCrcAt);
  const uint32_t expected = Checksum(header, body);
  if (crc != expected) {
    return CorruptionError("message header and body of {} bytes have crc32c {:#010x}, not {:#010x}",
                           body.size(), expected, crc);
  }
  if (version == 0) return CorruptionError("message of protocol version 0, which never was");
  if (version < kOldestProtocolVersion) {
    return CorruptionError("the peer speaks protocol version {}, this build {} to {}", version,
                           kOldestProtocolVersion, kProtocolVersion);
  }
  Header result;
  result.type = static_cast<MessageType>(Load<uint16_t>(header, kTypeAt));
  result.job_id = Load<uint64_t>(header, kJobIdAt);
  result.request_id = Load<uint64_t>(header, kRequestIdAt);
  result.step = Load<uint64_t>(header, kStepAt);
  result.part = Load<uint32_t>(header, kPartAt);
  result.parts = Load<uint32_t>(header, kPartsAt);
  result.deadline_ms = Load<uint32_t>(header, kDeadlineAt);
  result.sender = Load<uint32_t>(header, kSenderAt);
  result.incarnation = Load<uint64_t>(header, kIncarnationAt);
  if (result.part >= result.parts) {
    return CorruptionError("message is part {} of {}", result.part, result.parts);
  }
  if (const auto reserved = Load<uint32_t>(header, kReservedAt); reserved != 0) {
    return CorruptionError("message header has {:#x} in reserved bytes", reserved);
  }
  return result;
}

}  // namespace rowhouse
