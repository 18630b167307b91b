// The header of every message: 64 bytes, little-endian. Its layout never changes, so that any two
// builds can at least tell each other their versions.
//
//   offset  bytes  field
//        0      4  magic: the letters RWHS
//        4      2  protocol version
//        6      2  type: what the body is
//        8      8  job id: messages of another job are refused
//       16      8  request id: chosen by the asker, repeated in the reply
//       24      8  step of the training
//       32      4  part: number of this part of the request, from 0
//       36      4  parts: how many parts the request is sent in, at least 1
//       40      4  deadline in ms: how long the sender waits, from sending on; 0: not stated
//       44      4  sender: worker rank in requests, shard id in replies
//       48      8  incarnation of the server that is asked or that answers; 0: not known yet
//       56      4  reserved, 0
//       60      4  crc32c of the 60 bytes before it and of the body frame
//
// A change of a message's fields or payload raises kProtocolVersion. The checksum does not cover
// payload frames (ids and rows): TCP and the store have checksums of their own.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "common/frame.h"
#include "common/status.h"

namespace rowhouse {

inline constexpr uint16_t kProtocolVersion = 11;
inline constexpr uint16_t kOldestProtocolVersion = 11;  // still understood
inline constexpr size_t kHeaderBytes = 64;

// Numbers travel on the wire: never reuse one.
enum class MessageType : uint16_t {
  kHello = 1,
  kHelloReply = 2,
  kPull = 3,
  kPullReply = 4,
  kPush = 5,
  kPushReply = 6,
  kFlush = 7,
  kFlushReply = 8,
  kDigest = 9,
  kDigestReply = 10,
  kBye = 11,
  kByeReply = 12,
  kStats = 13,
  kStatsReply = 14,
  // 15 and 16 were ping and its reply.
  kError = 17,
  kPrefetch = 18,
  kBusy = 19,
  kCheckpoint = 20,
  kCheckpointReply = 21,
  kProfile = 22,
  kProfileReply = 23,
};

// "pull", "pull reply", ...; "unknown" for a number this build does not know.
std::string_view MessageTypeName(MessageType type);

struct Header {
  MessageType type = MessageType::kError;
  uint64_t job_id = 0;
  uint64_t request_id = 0;
  uint64_t step = 0;
  uint32_t part = 0;
  uint32_t parts = 1;
  uint32_t deadline_ms = 0;
  uint32_t sender = 0;
  uint64_t incarnation = 0;

  bool operator==(const Header&) const = default;
};

// The 64 bytes, with the checksum over them and `body`. Requires header.part < header.parts.
Frame EncodeHeader(const Header& header, std::span<const std::byte> body);

// kCorruption for a wrong size, magic, version or checksum, and for part >= parts. The type is not
// checked: the receiver refuses types that it does not know.
Result<Header> DecodeHeader(std::span<const std::byte> header, std::span<const std::byte> body);

}  // namespace rowhouse
