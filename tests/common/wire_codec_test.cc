#include <algorithm>
#include <map>
#include <optional>
#include <random>

#include "common/crc32c.h"
#include "common/serialized.h"
#include "common/wire/codec.h"
#include "tests/testing/frame_of.h"
#include "tests/testing/testing.h"

// After GoogleTest, whose names it uses.
#include <rapidcheck/gtest.h>

namespace rowhouse {
namespace {

struct Part {
  uint32_t table = 0;
  std::string name;
  std::vector<float> rates;
  bool operator==(const Part&) const = default;
  SERIALIZED(table, name, rates);
};

struct Everything {
  static constexpr MessageType kType = MessageType::kHello;
  bool yes = false;
  uint8_t byte = 0;
  int64_t number = 0;
  std::array<uint16_t, 3> three = {};
  std::vector<Part> parts;
  std::vector<std::string> words;
  std::vector<bool> bits;
  std::map<std::string, uint32_t> counts;
  std::optional<uint64_t> maybe;
  bool operator==(const Everything&) const = default;
  SERIALIZED(yes, byte, number, three, parts, words, bits, counts, maybe);
};

struct Empty {
  static constexpr MessageType kType = MessageType::kBye;
  template <class Archive>
  void serialize(Archive& /*archive*/) {}
};

rc::Gen<Part> ArbitraryPart() {
  return rc::gen::map(
      rc::gen::tuple(rc::gen::arbitrary<uint32_t>(), rc::gen::arbitrary<std::string>(),
                     rc::gen::arbitrary<std::vector<float>>()),
      [](const auto& t) {
        return Part{std::get<0>(t), std::get<1>(t), std::get<2>(t)};
      });
}

Everything ArbitraryEverything() {
  Everything all;
  all.yes = *rc::gen::arbitrary<bool>();
  all.byte = *rc::gen::arbitrary<uint8_t>();
  all.number = *rc::gen::arbitrary<int64_t>();
  all.three = *rc::gen::arbitrary<std::array<uint16_t, 3>>();
  all.parts = *rc::gen::container<std::vector<Part>>(ArbitraryPart());
  all.words = *rc::gen::arbitrary<std::vector<std::string>>();
  all.bits = *rc::gen::arbitrary<std::vector<bool>>();
  all.counts = *rc::gen::arbitrary<std::map<std::string, uint32_t>>();
  if (*rc::gen::arbitrary<bool>()) all.maybe = *rc::gen::arbitrary<uint64_t>();
  return all;
}

Everything Example() {
  return {.yes = true,
          .byte = 9,
          .number = -1,
          .three = {1, 2, 3},
          .parts = {{1, "emb_1", {.5f, -1.f}}, {2, "", {}}},
          .words = {"pull", "push"},
          .bits = {true, false, true},
          .counts = {{"a", 1}, {"b", 2}},
          .maybe = 7};
}

// A message with this body and an honest seal, as a broken or hostile peer could send it.
Message WithBody(MessageType type, std::span<const std::byte> body) {
  return Unpack(Pack({.type = type}, Frame::CopyOf(body), {})).value();
}

Result<Everything> Decode(std::span<const std::byte> body) {
  return DecodeBody<Everything>(WithBody(Everything::kType, body));
}

Frames Copy(const Frames& frames) {
  Frames copies;
  for (const Frame& frame : frames) copies.push_back(Frame::CopyOf(frame.bytes()));
  return copies;
}

RC_GTEST_PROP(WireCodec, WhatIsWrittenIsRead, ()) {
  const Everything all = ArbitraryEverything();
  const auto rows = *rc::gen::arbitrary<std::vector<float>>();
  Frames payload;
  payload.push_back(FrameOf(rows));
  Result<Message> message = Unpack(EncodeMessage({.step = 3}, all, std::move(payload)));
  RC_ASSERT(message.ok());
  RC_ASSERT(message.value().header.type == MessageType::kHello);
  RC_ASSERT(message.value().header.step == 3u);
  Result<Everything> decoded = DecodeBody<Everything>(message.value());
  RC_ASSERT(decoded.ok());
  RC_ASSERT(decoded.value() == all);
  RC_ASSERT(
      std::ranges::equal(message.value().payload.at(0).bytes(), std::as_bytes(std::span(rows))));
}

// Nothing may crash, hang or take much memory; most random bytes are refused, and what is accepted
// writes itself back as it was.
RC_GTEST_PROP(WireCodec, RandomBytesAreRefusedOrReadAsTheyAre, ()) {
  const auto bytes = *rc::gen::arbitrary<std::vector<uint8_t>>();
  const auto body = std::as_bytes(std::span(bytes));
  Result<Everything> decoded = Decode(body);
  if (!decoded.ok()) {
    RC_ASSERT(decoded.status().code() == StatusCode::kCorruption);
    return;
  }
  const Frame again = EncodeBody(decoded.value());
  RC_ASSERT(again.size() <= body.size());  // Repeated keys of a map are merged.
}

TEST(WireCodec, EveryTruncationIsRefused) {
  const Frame body = EncodeBody(Example());
  ASSERT_OK(Decode(body.bytes()));
  for (size_t size = 0; size < body.size(); ++size) {
    EXPECT_EQ(Decode(body.bytes().first(size)).status().code(), StatusCode::kCorruption) << size;
  }
}

TEST(WireCodec, LeftOverBytesAreRefused) {
  std::string longer(EncodeBody(Example()).text());
  longer.push_back('\0');
  const Status status = Decode(std::as_bytes(std::span(longer.data(), longer.size()))).status();
  EXPECT_EQ(status.code(), StatusCode::kCorruption);
  EXPECT_THAT(status.message(), testing::HasSubstr("1 left over"));
}

TEST(WireCodec, FlippedBitsUnderAnHonestSealNeverCrash) {
  Frame body = EncodeBody(Example());
  for (size_t bit = 0; bit < 8 * body.size(); ++bit) {
    body.data()[bit / 8] ^= std::byte{1} << (bit % 8);
    const Result<Everything> decoded = Decode(body.bytes());
    if (!decoded.ok()) {
      EXPECT_EQ(decoded.status().code(), StatusCode::kCorruption);
    }
    body.data()[bit / 8] ^= std::byte{1} << (bit % 8);
  }
}

struct Lengths {
  static constexpr MessageType kType = MessageType::kBye;
  std::vector<uint64_t> numbers;
  std::vector<Part> parts;
  std::string text;
  SERIALIZED(numbers, parts, text);
};

TEST(WireCodec, AbsurdLengthsAreRefusedWithoutTheirMemory) {
  // Each of the three lengths in turn; the sanitizers' allocator would abort on 2^60 bytes.
  for (const size_t at : {size_t{0}, size_t{8}, size_t{16}}) {
    for (const uint64_t length : {uint64_t{25}, uint64_t{1} << 40, ~uint64_t{0}}) {
      Frame body(24);
      std::memset(body.data(), 0, body.size());
      std::memcpy(body.data() + at, &length, sizeof(length));
      const Status status = DecodeBody<Lengths>(WithBody(MessageType::kBye, body.bytes())).status();
      EXPECT_EQ(status.code(), StatusCode::kCorruption) << at << " " << length;
      EXPECT_THAT(status.message(), testing::HasSubstr("elements stated"));
    }
  }
}

TEST(WireCodec, ABodyOfAnotherTypeIsRefusedByName) {
  const Message message = Unpack(EncodeMessage({}, Empty{})).value();
  EXPECT_EQ(message.body.size(), 0u);
  ASSERT_OK(DecodeBody<Empty>(message));
  EXPECT_EQ(DecodeBody<Everything>(message).status().message(), "bye (11) where hello (1) belongs");
}

TEST(WireMessage, AnyFlippedBitOfHeaderOrBodyIsRefused) {
  const Frames sent = EncodeMessage({.step = 4}, Example());
  for (size_t frame = 0; frame < 2; ++frame) {
    for (size_t bit = 0; bit < 8 * sent[frame].size(); ++bit) {
      Frames flipped = Copy(sent);
      flipped[frame].data()[bit / 8] ^= std::byte{1} << (bit % 8);
      EXPECT_EQ(Unpack(std::move(flipped)).status().code(), StatusCode::kCorruption)
          << "frame " << frame << " bit " << bit;
    }
  }
}

TEST(WireMessage, HeadersOfOtherSizesAndMissingFramesAreRefused) {
  Frames none;
  EXPECT_EQ(Unpack(std::move(none)).status().code(), StatusCode::kCorruption);
  for (size_t size = 0; size <= 80; ++size) {
    if (size == kHeaderBytes) continue;
    Frames frames;
    frames.push_back(Frame::CopyOf(std::string(size, 'R')));
    frames.push_back(Frame());
    EXPECT_EQ(Unpack(std::move(frames)).status().code(), StatusCode::kCorruption) << size;
  }
}

TEST(WireMessage, ANewerVersionIsNamedWhateverItsSealIs) {
  Frames frames = EncodeMessage({}, Empty{});
  frames[0].data()[4] = std::byte{kProtocolVersion + 1};
  EXPECT_EQ(Unpack(std::move(frames)).status().message(),
            "the peer speaks protocol version 12, this build up to 11");
}

TEST(WireMessage, AnOlderVersionThatIsNoLongerUnderstoodIsNamed) {
  Frames frames = EncodeMessage({}, Empty{});
  frames[0].data()[4] = std::byte{kOldestProtocolVersion - 1};
  const std::span<const std::byte> sealed = frames[0].bytes().first(kHeaderBytes - 4);
  const uint32_t crc = ExtendCrc32c(Crc32c(sealed), frames[1].bytes());
  std::memcpy(frames[0].data() + kHeaderBytes - 4, &crc, sizeof(crc));
  EXPECT_EQ(Unpack(std::move(frames)).status().message(),
            "the peer speaks protocol version 10, this build 11 to 11");
}

TEST(WireMessage, AnotherProtocolIsRefusedByItsMagic) {
  Frames frames = EncodeMessage({}, Empty{});
  std::memcpy(frames[0].data(), "HTTP", 4);
  EXPECT_THAT(Unpack(std::move(frames)).status().message(), testing::HasSubstr("\"RWHS\""));
}

}  // namespace
}  // namespace rowhouse
