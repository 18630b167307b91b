// Bytes that other builds rely on, written out by hand (the checksum by another program): if one
// of these tests fails, the change breaks every peer that is not rebuilt.
#include "common/serialized.h"
#include "common/wire/codec.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

const Header kHeader = {.type = MessageType::kPull,
                        .job_id = 0x0102030405060708,
                        .request_id = 0x1112131415161718,
                        .step = 0x2122232425262728,
                        .part = 2,
                        .parts = 5,
                        .deadline_ms = 1500,
                        .sender = 7,
                        .incarnation = 0x3132333435363738};

constexpr char kHeaderHex[] =
    "52574853"
    "0b00"
    "0300"
    "0807060504030201"
    "1817161514131211"
    "2827262524232221"
    "02000000"
    "05000000"
    "dc050000"
    "07000000"
    "3837363534333231"
    "00000000"
    "ba6c0b1e";

std::string Hex(std::span<const std::byte> bytes) {
  std::string hex;
  for (const std::byte byte : bytes) hex += fmt::format("{:02x}", static_cast<int>(byte));
  return hex;
}

TEST(WireGolden, TheHeaderIsTheseBytesForEver) {
  const Frame body = Frame::CopyOf("\x01\x02\x03");
  const Frame header = EncodeHeader(kHeader, body.bytes());
  EXPECT_EQ(Hex(header.bytes()), kHeaderHex);
  const Result<Header> decoded = DecodeHeader(header.bytes(), body.bytes());
  ASSERT_OK(decoded);
  EXPECT_EQ(decoded.value(), kHeader);
}

TEST(WireGolden, TypesKeepTheirNumbers) {
  const std::vector<std::string_view> names = {"unknown",      "hello",
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
                                               "profile",      "profile reply",
                                               "unknown"};
  for (uint16_t number = 0; number < names.size(); ++number) {
    EXPECT_EQ(MessageTypeName(static_cast<MessageType>(number)), names[number]);
  }
}

enum class Colour : uint8_t { kRed = 3 };

struct Sample {
  static constexpr MessageType kType = MessageType::kBye;
  uint8_t flag = 1;
  uint16_t small = 0x0203;
  int32_t below = -2;
  uint64_t large = 0x0405060708090a0b;
  float rate = 1.0f;
  double exact = -2.0;
  bool yes = true;
  Colour colour = Colour::kRed;
  std::string name = "emb";
  std::vector<uint32_t> ids = {5, 6};
  std::vector<std::string> words = {"a", ""};
  SERIALIZED(flag, small, below, large, rate, exact, yes, colour, name, ids, words);
};

TEST(WireGolden, ABodyIsItsFieldsInOrderLittleEndian) {
  EXPECT_EQ(Hex(EncodeBody(Sample()).bytes()),
            "01"
            "0302"
            "feffffff"
            "0b0a090807060504"
            "0000803f"
            "00000000000000c0"
            "01"
            "03"
            "0300000000000000"
            "656d62"
            "0200000000000000"
            "05000000"
            "06000000"
            "0200000000000000"
            "0100000000000000"
            "61"
            "0000000000000000");
}

}  // namespace
}  // namespace rowhouse
