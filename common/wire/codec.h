// Codec: the body of a message between a struct and a Frame. The only file that includes cereal.
//
// A body is a struct with its type number and one function:
//   struct PullRequest {
//     static constexpr MessageType kType = MessageType::kPull;
//     uint8_t eval = 0;
//     std::vector<TableRows> tables;
//     template <class Archive>
//     void serialize(Archive& archive) { archive(eval, tables); }
//   };
// Fields: integers and floats of fixed width, bool, enums of fixed width, std::string,
// std::array, std::vector, std::map, std::optional, std::pair of these, and structs of them.
//
// Format: cereal's binary layout, little-endian (fields in order, no padding; lengths as u64),
// through archives of our own. A peer's bytes may be anything, so a length is checked against the
// bytes left before memory is allocated for it.
//
// Decoding: kCorruption for truncated, left-over or impossible bytes; no exception escapes. Values
// of enums are not checked: the receiver of the message does that.
//
// Threads: pure functions.
#pragma once

#include <bit>
#include <cereal/cereal.hpp>
#include <cereal/types/array.hpp>
#include <cereal/types/map.hpp>
#include <cereal/types/optional.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/utility.hpp>
#include <cereal/types/vector.hpp>
#include <cstring>
#include <string>
#include <type_traits>

#include "common/frame.h"
#include "common/status.h"
#include "common/wire/message.h"

namespace rowhouse {

static_assert(std::endian::native == std::endian::little, "bodies are written as memory is");

class BodyWriter final : public cereal::OutputArchive<BodyWriter, cereal::AllowEmptyClassElision> {
 public:
  BodyWriter() : OutputArchive(this) {}

  void Append(const void* data, size_t bytes) {
    bytes_.append(static_cast<const char*>(data), bytes);
  }
  Frame Take() const { return Frame::CopyOf(bytes_); }

 private:
  std::string bytes_;
};

class BodyReader final : public cereal::InputArchive<BodyReader, cereal::AllowEmptyClassElision> {
 public:
  explicit BodyReader(std::span<const std::byte> bytes) : InputArchive(this), left_(bytes) {}

  size_t left() const { return left_.size(); }

  void Take(void* data, size_t bytes) {
    if (bytes > left_.size()) {
      throw cereal::Exception(fmt::format("{} bytes wanted, {} left", bytes, left_.size()));
    }
    if (bytes > 0) std::memcpy(data, left_.data(), bytes);  // memcpy takes no null.
    left_ = left_.subspan(bytes);
  }

  // The length of a list whose elements take at least `element_bytes` each.
  size_t TakeLength(size_t element_bytes = 1) {
    uint64_t length = 0;
    Take(&length, sizeof(length));
    RequireRoom(length, element_bytes);
    return static_cast<size_t>(length);
  }

  void RequireRoom(uint64_t length, size_t element_bytes) const {
    if (length > left_.size() / element_bytes) {
      throw cereal::Exception(
          fmt::format("{} elements stated, {} bytes left", length, left_.size()));
    }
  }

 private:
  std::span<const std::byte> left_;
};

template <class Body>
Frame EncodeBody(const Body& body) {
  BodyWriter writer;
  writer(body);
  return writer.Take();
}

// The frames of a whole message; header.type is set from the body.
template <class Body>
Frames EncodeMessage(Header header, const Body& body, Frames payload = {}) {
  header.type = Body::kType;
  return Pack(header, EncodeBody(body), std::move(payload));
}

template <class Body>
Result<Body> DecodeBody(const Message& message) {
  const std::string_view name = MessageTypeName(Body::kType);
  if (message.header.type != Body::kType) {
    return CorruptionError("{} ({}) where {} ({}) belongs", MessageTypeName(message.header.type),
                           static_cast<uint16_t>(message.header.type), name,
                           static_cast<uint16_t>(Body::kType));
  }
  BodyReader reader(message.body.bytes());
  Body body{};
  try {
    reader(body);
  } catch (const std::exception& error) {
    return CorruptionError("{}: body of {} bytes: {}", name, message.body.size(), error.what());
  }
  if (reader.left() > 0) {
    return CorruptionError("{}: body of {} bytes: {} left over", name, message.body.size(),
                           reader.left());
  }
  return body;
}

}  // namespace rowhouse

// Functions that cereal's containers find by the archive's type; cereal prescribes their names.
namespace cereal {

template <class T>
concept WireNumber = std::is_arithmetic_v<T> && !std::is_same_v<T, long double>;

template <WireNumber T>
void CEREAL_SAVE_FUNCTION_NAME(rowhouse::BodyWriter& writer, const T& number) {
  writer.Append(&number, sizeof(number));
}

template <WireNumber T>
void CEREAL_LOAD_FUNCTION_NAME(rowhouse::BodyReader& reader, T& number) {
  if constexpr (std::is_same_v<T, bool>) {
    uint8_t byte = 0;
    reader.Take(&byte, sizeof(byte));
    if (byte > 1) throw Exception(fmt::format("a bool of {}", byte));
    number = byte == 1;
  } else {
    reader.Take(&number, sizeof(number));
  }
}

// A binary body holds no names.
template <class T>
void CEREAL_SAVE_FUNCTION_NAME(rowhouse::BodyWriter& writer, const NameValuePair<T>& named) {
  writer(named.value);
}

template <class T>
void CEREAL_LOAD_FUNCTION_NAME(rowhouse::BodyReader& reader, NameValuePair<T>& named) {
  reader(named.value);
}

template <class T>
void CEREAL_SAVE_FUNCTION_NAME(rowhouse::BodyWriter& writer, const BinaryData<T>& data) {
  writer.Append(data.data, static_cast<size_t>(data.size));
}

template <class T>
void CEREAL_LOAD_FUNCTION_NAME(rowhouse::BodyReader& reader, BinaryData<T>& data) {
  reader.Take(data.data, static_cast<size_t>(data.size));
}

template <class T>
void CEREAL_SAVE_FUNCTION_NAME(rowhouse::BodyWriter& writer, const SizeTag<T>& tag) {
  const uint64_t length = tag.size;
  writer.Append(&length, sizeof(length));
}

template <class T>
void CEREAL_LOAD_FUNCTION_NAME(rowhouse::BodyReader& reader, SizeTag<T>& tag) {
  tag.size = reader.TakeLength();
}

// Preferred to cereal's own function, which allocates whatever length it reads. Numbers are checked
// against the bytes left; other elements are decoded one by one, so that memory grows with the
// bytes that were there.
template <class T, class Allocator>
requires(!std::is_same_v<T, bool>) void CEREAL_LOAD_FUNCTION_NAME(
    rowhouse::BodyReader& reader, std::vector<T, Allocator>& vector) {
  vector.clear();
  if constexpr (std::is_arithmetic_v<T>) {
    const size_t length = reader.TakeLength(sizeof(T));
    vector.resize(length);
    reader.Take(vector.data(), length * sizeof(T));
  } else {
    const size_t length = reader.TakeLength();
    for (size_t i = 0; i < length; ++i) {
      T element{};
      reader(element);
      vector.push_back(std::move(element));
    }
  }
}

}  // namespace cereal

CEREAL_SETUP_ARCHIVE_TRAITS(rowhouse::BodyReader, rowhouse::BodyWriter)
