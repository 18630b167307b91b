#include "ps/store/written_rows_file.h"

#include <glog/logging.h>
#include <xxhash.h>

#include <bit>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "common/crc32c.h"
#include "common/durable_file.h"

namespace rowhouse {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "RHWROWS1";

struct FileHead {
  char magic[8];
  uint64_t stamp;
  uint64_t sets;
};

struct SetHead {
  uint32_t table;
  uint32_t first_column;
  uint64_t first_position;
  uint64_t rows;
  uint64_t added;
  uint64_t bytes;
};

template <typename T>
void Append(const T& value, std::string* text) {
  text->append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Takes a T off the front; false if there is not enough.
template <typename T>
bool Take(std::string_view* text, T* value) {
  if (text->size() < sizeof *value) return false;
  std::memcpy(value, text->data(), sizeof *value);
  text->remove_prefix(sizeof *value);
  return true;
}

SetHead HeadOf(const WrittenSlice& slice) {
  return {.table = Raw(slice.table),
          .first_column = slice.first_column,
          .first_position = slice.first_position,
          .rows = slice.rows->rows(),
          .added = slice.rows->added(),
          .bytes = slice.rows->memory_bytes()};
}

bool IsSameSet(const SetHead& a, const SetHead& b) {
  return a.table == b.table && a.first_column == b.first_column &&
         a.first_position == b.first_position && a.rows == b.rows && a.bytes == b.bytes;
}

uint64_t HashOf(const std::string& stamp) { return XXH3_64bits(stamp.data(), stamp.size()); }

}  // namespace

std::string ImageOfWrittenRows(std::span<const WrittenSlice> slices) {
  FileHead head{.magic = {}, .stamp = 0, .sets = slices.size()};
  std::memcpy(head.magic, kMagic.data(), kMagic.size());
  size_t due = sizeof head + sizeof(uint32_t);  // With the checksum that is still to come.
  for (const WrittenSlice& slice : slices) due += sizeof(SetHead) + slice.rows->memory_bytes();
  std::string text;
  text.reserve(due);
  Append(head, &text);
  for (const WrittenSlice& slice : slices) Append(HeadOf(slice), &text);
  for (const WrittenSlice& slice : slices) {
    const std::span<const std::byte> bytes = slice.rows->bytes();
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return text;
}

Status SaveWrittenRows(const std::string& path, const std::string& stamp, std::string image) {
  CHECK(!stamp.empty());
  CHECK_GE(image.size(), sizeof(FileHead));
  const uint64_t hash = HashOf(stamp);
  std::memcpy(image.data() + offsetof(FileHead, stamp), &hash, sizeof hash);
  Append(Crc32c(image), &image);
  return WriteFileDurably(path, image);
}

Status LoadWrittenRows(const std::string& path, const std::string& stamp,
                       std::span<const WrittenSlice> slices) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  std::string_view rest = text;
  uint32_t checksum = 0;
  FileHead head{};
  if (text.size() < sizeof head + sizeof checksum) {
    return CorruptionError("{}: {} bytes, too few", path, text.size());
  }
  std::memcpy(&checksum, text.data() + text.size() - sizeof checksum, sizeof checksum);
  rest.remove_suffix(sizeof checksum);
  if (Crc32c(rest) != checksum) return CorruptionError("{}: the checksum is wrong", path);
  CHECK(Take(&rest, &head));
  if (std::string_view(head.magic, sizeof head.magic) != kMagic) {
    return CorruptionError("{}: no file of written rows", path);
  }
  if (stamp.empty() || head.stamp != HashOf(stamp)) {
    return UsageError("{}: rows were written since", path);
  }
  if (head.sets != slices.size()) {
    return UsageError("{}: of {} slices, where there are {} now", path, head.sets, slices.size());
  }
  std::vector<SetHead> sets(slices.size());
  for (size_t i = 0; i < slices.size(); ++i) {
    if (!Take(&rest, &sets[i])) return CorruptionError("{}: ends too early", path);
    if (!IsSameSet(sets[i], HeadOf(slices[i]))) {
      return UsageError("{}: set {} is of another slice or another size", path, i);
    }
  }
  uint64_t due = 0;
  for (const SetHead& set : sets) due += set.bytes;
  if (rest.size() != due) return CorruptionError("{}: {} bytes of {}", path, rest.size(), due);
  for (size_t i = 0; i < slices.size(); ++i) {
    const std::string_view bytes = rest.substr(0, sets[i].bytes);
    slices[i].rows->SetBytes(std::as_bytes(std::span(bytes.data(), bytes.size())), sets[i].added);
    rest.remove_prefix(bytes.size());
  }
  return OkStatus();
}

}  // namespace rowhouse
